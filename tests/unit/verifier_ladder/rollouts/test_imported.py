"""A row of old scores becomes a candidate with verdicts, or says what is wrong with it."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.badrow import BadRow
from verifier_ladder.imports import ImportRow
from verifier_ladder.rollouts.imported import ImportTable
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.verdict import Outcome


def gate(_: vl.Candidate) -> bool:
    return True


def relax(_: vl.Candidate) -> float:
    return 0.0


LADDER = vl.Ladder(
    "old",
    [
        vl.verifier(kind="text", role="gate")(gate),
        vl.verifier(kind="text", tier="simulation", unit="eV")(relax),
        ExpertCase(ask="Good?", kind="text", low=0.0, high=10.0),
    ],
)  # fmt: skip
WORLD = LADDER.verifiers[-1].name


def read(*rows: Any, **options: Any) -> list[ImportRow | BadRow]:
    return list(ImportTable(list(rows), LADDER, **options).rows())


def one(**row: Any) -> ImportRow:
    (found,) = read(row)
    assert isinstance(found, ImportRow), found
    return found


def reason(**row: Any) -> str:
    (found,) = read(row)
    assert isinstance(found, BadRow)
    return found.reason


def test_a_score_is_an_accept_in_the_verifiers_unit() -> None:
    verdict = one(content="a", relax=-1.5).verdicts["relax"]

    assert (Outcome.ACCEPT, -1.5, "eV") == (verdict.outcome, verdict.score, verdict.unit)


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        (True, Outcome.ACCEPT), (False, Outcome.REJECT), ("TRUE", Outcome.ACCEPT),
        ("false ", Outcome.REJECT),
    ],
)  # fmt: skip
def test_truth_is_accept_and_falsehood_reject(cell: object, outcome: Outcome) -> None:
    assert outcome == one(content="a", gate=cell).verdicts["gate"].outcome


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan"), "nan"])
def test_a_cell_without_a_value_was_not_asked(cell: object) -> None:
    assert {} == one(content="a", relax=cell).verdicts


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_being_text(number: float) -> None:
    assert number == one(content="a", relax=repr(number)).verdicts["relax"].score


def test_a_verdict_is_taken_as_it_is() -> None:
    given_ = vl.Verdict.accept(1.0, uncertainty=0.25, unit="eV")

    assert given_ == one(content="a", relax=given_).verdicts["relax"]


def test_a_task_is_a_mapping_or_json() -> None:
    assert {"target": 4} == one(content="a", relax=1, task={"target": 4}).candidate.task
    assert {"target": 4} == one(content="a", relax=1, task='{"target": 4}').candidate.task
    assert one(content="a", relax=1, task=None).candidate.task is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"content": 3, "relax": 1}, "column 'content' holds a number"),
        ({"relax": 1, "content": None}, "column 'content' holds null"),
        ({"content": "a", "relax": "much"}, "relax: 'much' is neither a number"),
        ({"content": "a", "relax": "inf"}, "relax: .*finite"),
        ({"content": "a", "relax": []}, "relax: .*list"),
        ({"content": "a", WORLD: 11.0}, "must lie between 0 and 10"),
        ({"content": "a", "relax": vl.Verdict.abstain("x", failed_at="tool")}, "is no answer"),
        ({"content": "a", "relax": 1, "task": "[1]"}, "task must hold fields"),
        ({"content": "a", "relax": 1, "task": "{"}, "its task is not JSON"),
        ({"content": "a", "relax": 1, "task": {"a": float("inf")}}, "can't be part of a key"),
    ],
)
def test_a_bad_row_says_what_is_wrong(row: dict[str, Any], message: str) -> None:
    assert re.search(message, reason(**row))


def test_rows_are_counted_from_one_and_bad_ones_too() -> None:
    found = read({"content": "a", "relax": 1}, "no row", {"content": 2}, {"content": "b"})

    assert [1, 2, 3, 4] == [row.line for row in found]
    assert [ImportRow, BadRow, BadRow, ImportRow] == [type(row) for row in found]


def test_a_column_may_have_another_name() -> None:
    (row,) = read({"smiles": "CC", "dft": 1.0}, columns={"content": "smiles", "relax": "dft"})

    assert isinstance(row, ImportRow)
    assert ("CC", 1.0) == (row.candidate.content, row.verdicts["relax"].score)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"content": "a", "relaxed": 1}, {}, "'relaxed'; it has 'gate', 'relax', .*ignore"),
        ({"content": "a", "relax": 1, "id": 7}, {}, "'id'"),
        ({"text": "a", "relax": 1}, {"ignore": ["text"]}, "holds the candidates"),
        ({"content": "a"}, {}, "holds a verifier's scores"),
        ({"content": "a", "relax": 1}, {"columns": {"dft": "relax"}}, "no part 'dft'"),
        ({"content": "a", "relax": 1}, {"columns": {"relax": "dft"}}, "no column is called 'dft'"),
    ],
)
def test_unknown_columns_are_refused_before_a_row_is_read(
    row: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(vl.ConfigError, match=message):
        ImportTable([row], LADDER, **options)


def test_a_column_of_the_last_row_counts_too() -> None:
    with pytest.raises(vl.ConfigError, match="'late'"):
        ImportTable([{"content": "a", "relax": 1}] * 3 + [{"content": "a", "late": 1}], LADDER)


def test_columns_may_be_left_out() -> None:
    (row,) = read({"content": "a", "relax": 1, "id": 7}, ignore="id")

    assert isinstance(row, ImportRow)


@pytest.mark.parametrize("given_", [{"content": "a"}, 3, None])
def test_what_holds_no_rows_is_refused(given_: object) -> None:
    with pytest.raises(vl.ConfigError, match="takes rows by name"):
        ImportTable(given_, LADDER)


def test_a_file_is_read_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("content,gate,relax\na,true,\nb,,2.5\n")

    found = list(ImportTable(path, LADDER).rows())

    assert [(2, {"gate": 1.0}), (3, {"relax": 2.5})] == [
        (row.line, {name: v.score for name, v in row.verdicts.items()})
        for row in found if isinstance(row, ImportRow)
    ]  # fmt: skip


def test_frames_are_read_whoever_made_them() -> None:
    rows: list[dict[str, Any]] = [
        {"content": "a", "relax": 1.5}, {"content": "b", "relax": None}
    ]  # fmt: skip

    class Polars:
        def to_dicts(self) -> list[dict[str, Any]]:
            return rows

    frames = [
        import_module("pyarrow").Table.from_pylist(rows),
        import_module("pandas").DataFrame(rows),
        import_module("pandas").DataFrame(rows).convert_dtypes(),
        Polars(),
    ]

    assert [list(ImportTable(rows, LADDER).rows())] * 4 == [
        list(ImportTable(frame, LADDER).rows()) for frame in frames
    ]


def test_chunks_hold_every_row_once() -> None:
    table = ImportTable([{"content": str(i), "relax": i} for i in range(3000)] + [{}], LADDER)

    chunks = list(table.chunks())

    assert 3000 == sum(len(good) for good, _ in chunks)
    assert [3001] == [row.line for _, bad in chunks for row in bad]
    assert max(len(good) for good, _ in chunks) < 3000


class Laboratory(ExpertCase):
    """Reads answers in a way of its own."""

    def answered(self, candidate: vl.Candidate, value: object) -> Any:
        del candidate
        if value == 0:
            raise ZeroDivisionError("division by zero")
        return value if value == 1 else object()


@pytest.mark.parametrize(
    ("cell", "message"), [(0, "ZeroDivisionError: division by zero"), (2, "not object")]
)
def test_a_row_that_the_verifier_can_not_read_is_bad_and_the_others_are_taken(
    cell: int, message: str
) -> None:
    laboratory = Laboratory(ask="Good?", kind="text", low=0.0, high=10.0)
    rows = [{"content": "a", laboratory.name: cell}, {"content": "b", laboratory.name: 1}]

    bad, good = ImportTable(rows, vl.Ladder("old", [laboratory])).rows()

    assert isinstance(bad, BadRow)
    assert message in bad.reason
    assert isinstance(good, ImportRow)
    assert good.verdicts[laboratory.name].score == 1.0
