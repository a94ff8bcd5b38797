"""Plates out and in: wells leave under an approval, and come back by case, plate and well."""

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.casework.results import Results, read_results
from verifier_ladder.cli.app import app
from verifier_ladder.errors import ConfigError
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.world.case import WorldVerifier

Rows = list[dict[str, Any]]
Run = Callable[..., Any]


class Assay(WorldVerifier):
    """Asks a laboratory for a concentration."""

    name, version, kind, unit, low = "assay", "1", "text", "µM", 0.0
    passes, in_logs = "< 10", True


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plates")
    REGISTRY.add(Assay())
    ladder = vl.Ladder("assays", [Assay()], budget={"world": "unlimited"})
    with vl.Campaign.open(
        "assays", ladder=ladder, ledger=folder / "ledger.db", workers=1
    ) as campaign:
        campaign.score(["CCO", "CCN", "CCC"], deadline=0)
        assert campaign.drain(300)
        assert 3 == len(campaign.cases())
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


@pytest.fixture
def run(folder: Path) -> Run:
    runner = CliRunner()

    def call(verb: str, *arguments: object) -> Any:
        place = ("case", verb, "--ledger", str(folder / "ledger.db"), "--json")
        return runner.invoke(app, [*place, *map(str, arguments)])

    return call


def out(run: Run, folder: Path, *options: object) -> Any:
    plates = ("--plates", 96, "--replicates", 2, "--control", "blank=2", "--seed", 7)
    return run("out", "--out", folder / "order.json", *plates, *options)


@pytest.fixture
def order(run: Run, folder: Path) -> Rows:
    """A plate with two wells of each of three cases, and two of a control."""
    assert 0 == run("approve", "--rows", 8, "--by", "ada").exit_code
    done = out(run, folder)
    assert 0 == done.exit_code, done.output
    return list(json.loads((folder / "order.json").read_text()))


def hand_in(run: Run, folder: Path, rows: Rows, *options: object) -> Any:
    path = folder / "results.json"
    path.write_text(json.dumps(rows))
    return run("in", path, *options)


def told(done: Any) -> dict[str, Any]:
    return dict(json.loads(done.stdout))


def name_of(row: dict[str, Any]) -> str:
    """The candidate or the control of a well."""
    return str(row["control"] or row["candidate"])


def filled(rows: Rows, values: dict[str, list[Any]]) -> Rows:
    """The order with values in the wells of each candidate, in the order of the rows."""
    left = {name: iter(said) for name, said in values.items()}
    return [{**row, "value": next(left.get(name_of(row), iter(())), None)} for row in rows]


ALL: dict[str, list[Any]] = {
    "CCO": [0.01, 1.0],
    "CCN": [2, 2],
    "CCC": [3, 3],
    "blank": [99, 98],
}


def verdict_of(folder: Path, rows: Rows, candidate: str) -> vl.Verdict | None:
    (key,) = {bytes.fromhex(row["case"]) for row in rows if row["candidate"] == candidate}
    with vl.open_ledger(folder / "ledger.db") as ledger:
        return ledger.verdicts([key]).get(key)


def test_a_row_is_a_well_of_a_case_or_of_a_control(order: Rows) -> None:
    assert ["case", "plate", "well", "control", "digest"] == list(order[0])[:5]
    assert 8 == len({(row["plate"], row["well"]) for row in order})
    assert 1 == len({row["plate"] for row in order})
    names = list(map(name_of, order))
    assert {"CCO": 2, "CCN": 2, "CCC": 2, "blank": 2} == {n: names.count(n) for n in names}
    assert all((row["control"] is None) is bool(row["candidate"]) for row in order)
    assert {("assay", "µM")} == {(row["verifier"], row["unit"]) for row in order}


def test_nothing_leaves_that_was_not_approved(run: Run, folder: Path) -> None:
    done = out(run, folder)
    assert (2, True) == (done.exit_code, "vladder case approve" in done.stderr)
    assert not (folder / "order.json").exists()

    assert 6 == told(run("approve", "--rows", 6, "--by", "ada"))["left"]
    assert (2, 6) == (told(out(run, folder))["cases"], told_rows(folder))
    assert 2 == out(run, folder).exit_code

    assert 4 == told(run("approve", "--rows", 4, "--by", "ada"))["left"]
    assert 1 == told(out(run, folder))["cases"]


def told_rows(folder: Path) -> int:
    return len(json.loads((folder / "order.json").read_text()))


@pytest.mark.usefixtures("order")
def test_what_lies_on_a_plate_leaves_again_only_on_demand(run: Run, folder: Path) -> None:
    run("approve", "--rows", 8, "--by", "ada")
    (folder / "order.json").unlink()

    done = out(run, folder)
    assert (1, 3, 0) == (done.exit_code, told(done)["open"], told(done)["cases"])
    assert not (folder / "order.json").exists()
    assert 2 == out(run, folder, "--again").exit_code, "the same seed makes the same plate"
    assert 3 == told(out(run, folder, "--again", "--seed", 8))["cases"]


def test_a_batch_whose_file_was_lost_is_written_once_more(
    run: Run, folder: Path, order: Rows
) -> None:
    (folder / "order.json").unlink()
    name = order[0]["plate"].rpartition("-")[0]

    done = run("out", "--out", folder / "order.json", "--batch", name)

    assert (3, 8, name) == tuple(told(done)[fact] for fact in ("cases", "rows", "batch"))
    assert order == json.loads((folder / "order.json").read_text())
    assert 0 == hand_in(run, folder, filled(order, {"CCO": [1, 1]})).exit_code
    assert 2 == told(run("out", "--out", folder / "order.json", "--batch", name))["cases"]
    assert 6 == told_rows(folder)
    assert 2 == run("out", "--out", folder / "order.json", "--batch", "P0").exit_code


def test_a_batch_without_open_cases_is_not_written_again_and_named(
    run: Run, folder: Path, order: Rows
) -> None:
    name = order[0]["plate"].rpartition("-")[0]
    assert 0 == hand_in(run, folder, filled(order, ALL)).exit_code
    ledger = ("case", "out", "--ledger", str(folder / "ledger.db"))

    done = CliRunner().invoke(app, [*ledger, "--out", str(folder / "o.json"), "--batch", name])

    assert (1, False) == (done.exit_code, (folder / "o.json").exists())
    assert f"no case of the batch {name} is open any more" in done.output


def test_a_batch_of_which_no_file_could_be_written_takes_no_wells(run: Run, folder: Path) -> None:
    run("approve", "--rows", 8, "--by", "ada")

    missing = run("out", "--out", folder / "no" / "order.json", "--plates", 96)

    assert 2 == missing.exit_code
    assert 3 == told(out(run, folder))["cases"]


def test_wells_are_averaged_in_logs_and_kept_beside_the_controls(
    run: Run, folder: Path, order: Rows
) -> None:
    done = hand_in(run, folder, filled(order, ALL))

    assert 0 == done.exit_code, done.output
    assert 3 == told(done)["taken"]
    verdict = verdict_of(folder, order, "CCO")
    assert verdict is not None
    assert (vl.Outcome.ACCEPT, 0.1) == (verdict.outcome, verdict.score)
    assert order[0]["plate"] == verdict.evidence["plate"]
    assert [0.01, 1.0] == sorted(verdict.evidence["wells"].values())
    assert {"blank": [99, 98]} == verdict.evidence["controls"]
    assert 3 == told(hand_in(run, folder, filled(order, ALL)))["known"] // 2


def test_wells_that_fail_are_left_out_and_told(run: Run, folder: Path, order: Rows) -> None:
    values: dict[str, list[Any]] = {
        **ALL,
        "CCO": ["failed", 3.0],
        "CCN": ["failed", "failed"],
        "CCC": ["< 0.1", 4],
    }

    assert 3 == told(hand_in(run, folder, filled(order, values)))["taken"]

    some, none, bound = (verdict_of(folder, order, name) for name in ("CCO", "CCN", "CCC"))
    assert some is not None
    assert none is not None
    assert bound is not None
    assert (3.0, 1) == (some.score, some.evidence["replicates"]["answered"])
    assert (vl.Outcome.ABSTAIN, "the measurement failed") == (none.outcome, none.reason)
    assert none.is_answer
    assert (vl.Outcome.ACCEPT, None) == (bound.outcome, bound.score)
    assert {"< 0.1", 4.0} == set(bound.evidence["wells"].values())


@pytest.mark.parametrize("reads", [[0.3, 0.1], ["< 0.1", "< 0.5"], ["< 0.1", 4]])
def test_rows_in_another_order_say_the_same_and_other_reads_do_not(
    run: Run, folder: Path, order: Rows, reads: list[Any]
) -> None:
    rows = filled(order, {"CCO": reads})
    assert 1 == told(hand_in(run, folder, rows))["taken"]

    assert 2 == told(hand_in(run, folder, rows[::-1]))["known"]
    (bad,) = told(hand_in(run, folder, filled(order, {"CCO": reads[::-1]})))["bad_rows"]

    assert "was answered before" in bad["reason"]


def test_what_is_noted_of_a_well_is_kept_by_its_name(run: Run, folder: Path, order: Rows) -> None:
    rows = filled(order, {"CCO": [1, "failed"], "CCN": ["failed", "failed"]})
    for row in rows:
        row["note"] = f"in {row['well']}" if row["value"] == "failed" else None

    assert 2 == told(hand_in(run, folder, rows))["taken"]

    for name in ("CCO", "CCN"):
        verdict = verdict_of(folder, order, name)
        assert verdict is not None
        assert verdict.evidence["note"] == {
            row["well"]: f"in {row['well']}"
            for row in rows if (row["candidate"], row["value"]) == (name, "failed")
        }  # fmt: skip


def test_the_mean_of_wells_decides_what_passes(run: Run, folder: Path, order: Rows) -> None:
    values: dict[str, list[Any]] = {"CCO": [1.0, 90.0], "CCN": [9.0, 90.0]}

    assert 2 == told(hand_in(run, folder, filled(order, values)))["taken"]

    good, bad = (verdict_of(folder, order, name) for name in ("CCO", "CCN"))
    assert good is not None
    assert bad is not None
    assert ("accept", "reject") == (good.outcome.value, bad.outcome.value)


def swap(column: str) -> Callable[[Rows], None]:
    """Swaps a column between a well of one case and one of another."""

    def change(rows: Rows) -> None:
        one, two = (next(r for r in rows if r["candidate"] == name) for name in ("CCO", "CCN"))
        one[column], two[column] = two[column], one[column]

    return change


def edit(**columns: Any) -> Callable[[Rows], None]:
    """Changes columns of a well of one case."""

    def change(rows: Rows) -> None:
        next(row for row in rows if row["candidate"] == "CCO").update(columns)

    return change


def plate_only(rows: Rows) -> None:
    for row in rows:
        row["plate"] = f"{row['plate'][:-1]}2"


def twice(rows: Rows) -> None:
    rows.append(dict(rows[0]))


def without_one(rows: Rows) -> None:
    rows.remove(next(row for row in rows if row["candidate"] == "CCO"))


def control_of_a_case(rows: Rows) -> None:
    control = next(row for row in rows if row["control"])
    control["case"] = next(row["case"] for row in rows if row["case"])


def a_case_is_a_control(rows: Rows) -> None:
    next(row for row in rows if row["case"])["control"] = "blank"


def another_control(rows: Rows) -> None:
    next(row for row in rows if row["control"])["control"] = "top dose"


def endless_control(rows: Rows) -> None:
    next(row for row in rows if row["control"])["value"] = float("nan")


CHANGES: dict[str, tuple[Callable[[Rows], None], str, int]] = {
    "wells swapped": (swap("well"), "wells may have been swapped", 2),
    "cases swapped": (swap("case"), "wells may have been swapped", 2),
    "digests swapped": (swap("digest"), "the column 'digest' is not that of the case", 2),
    "another plate": (plate_only, "nothing of this campaign lies in the well", 8),
    "another well": (edit(well="Z9"), "nothing of this campaign lies in the well 'Z9'", 1),
    "no place": (edit(plate="", well=""), "this case lies on a plate", 1),
    "no digest": (edit(digest=""), "keep the column 'digest'", 1),
    "a well twice": (twice, "answers this case too", 1),
    "a row is missing": (without_one, "whose rows are missing, empty or bad", 1),
    "an empty well": (edit(value=None), "whose rows are missing, empty or bad", 1),
    "a control is a case": (control_of_a_case, "holds the control 'blank'", 1),
    "a case is a control": (a_case_is_a_control, "the column 'control' is not that of", 1),
    "another control": (another_control, "the column 'control' is not that of the well", 1),
    "a control that is no number": (endless_control, "is no finite number", 1),
    "a number that can't be": (edit(value=-1), "must lie between", 1),
}  # fmt: skip


def test_a_plate_that_is_not_the_one_that_left_is_refused_row_by_row(
    run: Run, folder: Path, order: Rows
) -> None:
    for what, (change, message, least) in CHANGES.items():
        rows = filled(order, ALL)
        change(rows)

        done = hand_in(run, folder, rows)

        assert (1, 0) == (done.exit_code, told(done)["taken"]), what
        reasons = [row["reason"] for row in told(done)["bad_rows"]]
        assert least <= sum(message in reason for reason in reasons), (what, reasons)
    assert all(verdict_of(folder, order, name) is None for name in ("CCO", "CCN", "CCC"))


def test_good_cases_of_a_plate_are_taken_alone_where_that_is_asked_for(
    run: Run, folder: Path, order: Rows
) -> None:
    rows = filled(order, ALL)
    edit(value="x")(rows)

    done = hand_in(run, folder, rows, "--only-good")

    assert (0, 2) == (done.exit_code, told(done)["taken"])
    assert verdict_of(folder, order, "CCO") is None


def test_a_case_without_values_stays_open(run: Run, folder: Path, order: Rows) -> None:
    done = hand_in(run, folder, filled(order, {"CCN": [2, 2]}))

    assert (0, 1, 6) == (done.exit_code, told(done)["taken"], told(done)["blank"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicates", 2], "give --plates"),
        (["--plates", 24], "choose 96 or 384"),
        (["--plates", 96, "--batch", "P0"], "give one of them"),
        (["--plates", 96, "--control", "blank"], "NAME=WELLS"),
        (["--plates", 96, "--control", "a=1", "--control", "a=2"], "each once"),
        (["--plates", 96, "--control", f"a={'9' * 5000}"], "NAME=WELLS"),
    ],
)
def test_a_layout_that_makes_no_sense_says_why(
    run: Run, folder: Path, options: list[object], message: str
) -> None:
    done = run("out", "--out", folder / "order.csv", *options)

    assert (2, True) == (done.exit_code, message in done.stderr)
    assert not (folder / "order.csv").exists()


BITS = [
    "< ", "≥ ", "-", "1e999", "nan", "inf", "9" * 400, "1_0", "٣", "=1+1", "'", '"', ",", ";",
    "\n",
    "\r", "\t", "\0", "\x1b[31m", "\ud800", "\ufeff", "\u202e", "failed", "decline", "yes", "µ",
    "Ω/", "M", "10**9**9", "[", "]", "{", "}", ":", "null", "true", '{"case": 1, "case": 2}',
    "NaN", "Infinity", "P0-1", "H12", "blank",
    "<c>", "</c>", "<f/>", "<v>", 'r="', 's="99"', 't="d"', 't="s"',
    "<row>", "<mergeCell ref='A1:XFD1048576'/>", "<!DOCTYPE x>", "&amp;", "&#0;",
]  # fmt: skip


def mutated(text: bytes, chance: Random) -> bytes:
    """The text after one to four edits: bytes cut out, put in, changed, or moved."""
    data = bytearray(text)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(6):
            case 0:
                del data[at : at + chance.randint(1, 8)]
            case 1 | 2 | 3:
                data[at:at] = chance.choice(BITS).encode("utf-8", "surrogatepass")
            case 4:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case _:
                data[at:at] = data[to : to + 80]
    return bytes(data)


def table(rows: Rows) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def hostile_csv(rows: Rows, chance: Random) -> Iterator[bytes]:
    for _ in range(450):
        yield mutated(table(rows), chance)


def hostile_json(rows: Rows, chance: Random) -> Iterator[bytes]:
    for _ in range(450):
        yield mutated(json.dumps(rows).encode(), chance)


def hostile_xlsx(rows: Rows, chance: Random) -> Iterator[bytes]:
    """Workbooks, most with edits in the XML of their sheet, some in the archive itself."""
    openpyxl = pytest.importorskip("openpyxl")
    book, whole = openpyxl.Workbook(), io.BytesIO()
    names = [
        "case", "plate", "well", "control", "digest", "verifier", "candidate", "value", "unit",
    ]  # fmt: skip
    for cells in [names, *([row[name] for name in names] for row in rows)]:
        book.active.append(cells)
    book.save(whole)
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for number in range(120):
        if number % 5 == 0:
            yield mutated(whole.getvalue(), chance)
            continue
        stream = io.BytesIO()
        changed = "xl/worksheets/sheet1.xml" if number % 5 < 4 else chance.choice(list(parts))
        with zipfile.ZipFile(stream, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, mutated(part, chance) if name == changed else part)
        yield stream.getvalue()


def is_of_the_layout(found: Results, rows: Rows) -> bool:
    """Whether each answer is that of all wells of its case, and of no others."""
    wells: dict[str, set[str]] = {}
    for row in rows:
        wells.setdefault(row["case"] or "", set()).add(row["well"])
    return all(
        wells[key.hex()] == set(verdict.evidence["wells"])
        and (verdict.score is None or verdict.score > 0)
        for key, verdict in found.answers.items()
    )


@pytest.mark.parametrize("make", [hostile_csv, hostile_json, hostile_xlsx])
def test_hostile_files_are_refused_or_read_row_by_row(
    folder: Path, order: Rows, make: Callable[[Rows, Random], Iterator[bytes]]
) -> None:
    path = folder / f"hostile.{make.__name__.removeprefix('hostile_')}"
    ladder = vl.Ladder("assays", [Assay()], budget={"world": "unlimited"})
    rows = filled(order, ALL)
    refused = bad = good = 0
    with vl.open_ledger(folder / "ledger.db") as ledger:
        for data in make(rows, Random(7)):  # noqa: S311 - it is to be repeated
            path.write_bytes(data)
            try:
                found = read_results(path, ledger, "assays", ladder, "a reader")
            except ConfigError:
                refused += 1
                continue
            assert is_of_the_layout(found, rows), data
            bad += bool(found.bad_rows)
            good += len(found.answers) == 3

    assert min(refused, bad, good) > 0, (refused, bad, good)


def test_what_a_plate_said_is_superseded_and_the_same_file_is_refused_then(
    run: Run, folder: Path, order: Rows
) -> None:
    rows = filled(order, ALL)
    assert 0 == hand_in(run, folder, rows).exit_code
    (case,) = {row["case"] for row in rows if row["candidate"] == "CCN"}
    ladder = vl.Ladder("assays", [Assay()])

    with vl.Campaign.open("assays", ladder=ladder, ledger=folder / "ledger.db") as campaign:
        assert campaign.supersede(case, 20.0, source="ada", why="the wells were mixed up")
        *_, revision = campaign.revisions(after=0)

    said = verdict_of(folder, rows, "CCN")
    assert said is not None
    assert (vl.Outcome.REJECT, 20.0) == (said.outcome, said.score)
    assert 2.0 == revision.previous
    again = hand_in(run, folder, rows)
    assert 0 != again.exit_code
    assert "answered before with reject 20" in again.stdout
