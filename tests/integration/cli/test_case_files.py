"""`vladder case out` and `in`: a work order leaves, and results come back as verdicts."""

import csv
import json
import shutil
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.plates import approve
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.world.case import WorldVerifier

Run = Callable[..., Any]
Rows = list[dict[str, Any]]
TEXTS = ["CCO", "=2+3", "C\x1b[31mC", "two\nlines"]


class Scale(WorldVerifier):
    """Asks a laboratory for a weight."""

    name, version, kind, unit, low, high = "scale", "1", "text", "µg", 0.0, 100.0
    task_fields = ("batch", "expected")
    hidden = ("expected",)

    def question(self, candidate: vl.Candidate) -> str:
        task = candidate.task or {}
        return f"Weigh {candidate.content!r}; is it {task.get('expected')}?"


def ladder() -> vl.Ladder:
    guess = vl.verifier(name="guess-files", version="1", isolation="inline")(
        lambda c: float(len(c.content))
    )
    REGISTRY.add(Scale())
    return vl.Ladder("weights", [guess, Scale()], budget={"world": "unlimited"})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with an open case for each of the texts."""
    folder = tmp_path_factory.mktemp("cases")
    task = {"batch": "b7", "expected": "secretive"}
    with vl.Campaign.open(
        "weights", ladder=ladder(), ledger=folder / "ledger.db", workers=1
    ) as campaign:
        campaign.score([vl.Candidate("text", text, task) for text in TEXTS])
        assert campaign.drain(300)
        assert len(TEXTS) == len(campaign.cases())
        approve(campaign.ledger, "weights", 3 * len(TEXTS), by="the head")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


@pytest.fixture
def run(folder: Path) -> Run:
    runner = CliRunner()

    def call(verb: str, *arguments: object) -> Any:
        place = ("case", verb, "--ledger", str(folder / "ledger.db"))
        return runner.invoke(app, [*place, *map(str, arguments)])

    return call


@pytest.fixture
def rows(run: Run, folder: Path) -> Rows:
    """The rows of a work order."""
    done = run("out", "--out", folder / "order.csv", "--verifier", "scale")
    assert 0 == done.exit_code, done.output
    with (folder / "order.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def filled(folder: Path, rows: Rows, values: dict[int, Any], **columns: Any) -> Path:
    """The work order with values in some of its rows, and other texts in columns of the first."""
    table = [{**row, "value": values.get(place, "")} for place, row in enumerate(rows)]
    table[0] |= columns
    path = folder / "results.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return path


def told(done: Any) -> dict[str, Any]:
    return dict(json.loads(done.stdout))


def reviews(folder: Path) -> list[dict[str, Any]]:
    with vl.open_ledger(folder / "ledger.db") as ledger:
        return [dict(ledger.read(entry).facts) for entry in ledger.entries(kind="review")]


def test_a_work_order_holds_every_open_case_and_runs_in_no_spreadsheet(rows: Rows) -> None:
    assert sorted(["CCO", "'=2+3", r"C\u001b[31mC", "two\nlines"]) == sorted(
        row["candidate"] for row in rows
    )
    assert {"µg"} == {row["unit"] for row in rows}
    assert {""} == {row["value"] for row in rows}
    assert len(TEXTS) == len({row["case"] for row in rows})


def test_a_work_order_tells_neither_what_is_hidden_nor_what_other_tiers_said(
    run: Run, folder: Path
) -> None:
    blind, seeing = folder / "blind.json", folder / "seeing.json"
    assert 0 == run("out", "--out", blind).exit_code
    assert 0 == run("out", "--out", seeing, "--unblind", "--again").exit_code

    assert "secretive" not in blind.read_text() + seeing.read_text()
    assert "guess-files" not in blind.read_text()
    (task,) = {json.dumps(row["task"]) for row in json.loads(blind.read_text())}
    assert {"batch": "b7"} == json.loads(task)
    assert all(
        row["question"].endswith("is it [hidden]?") for row in json.loads(blind.read_text())
    )
    assert all(["guess-files"] == list(r["other_tiers"]) for r in json.loads(seeing.read_text()))


def test_no_more_rows_leave_than_were_approved_and_each_case_once(run: Run, folder: Path) -> None:
    order, count = folder / "order.json", len(TEXTS)

    def leave(*options: object) -> tuple[int, int]:
        order.unlink(missing_ok=True)
        code = run("out", "--out", order, *options).exit_code
        return code, len(json.loads(order.read_text())) if order.exists() else 0

    assert (0, count) == leave()
    assert (1, 0) == leave()
    assert (0, count) == leave("--again")
    assert (0, count) == leave("--by", "ada")
    assert (2, 0) == leave("--again")
    assert (1, 0) == leave("--by", "bob")  # Another reads them all.
    assert 2 == told(run("approve", "--rows", 2, "--by", "the head", "--json"))["left"]
    left = told(run("out", "--out", order, "--again", "--json"))
    assert (2, count) == (left["rows"], left["open"])
    assert (0, 2) == leave("--batch", left["batch"])
    assert 2 == run("out", "--out", order, "--batch", left["batch"], "--by", "ada").exit_code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--verifier", "stove"], "those that ask: scale"),
        (["--verifier", "guess-files"], "those that ask: scale"),
        (["--out", "order.xml"], "must end in .csv or .json"),
    ],
)
def test_a_work_order_that_can_t_be_written_says_why(
    run: Run, folder: Path, options: list[str], message: str
) -> None:
    done = run("out", "--out", folder / "order.csv", *options)

    assert 2 == done.exit_code
    assert message in done.stderr
    assert not (folder / "order.csv").exists()


def test_another_unit_is_converted_and_what_was_reported_is_kept(
    run: Run, folder: Path, rows: Rows
) -> None:
    rows[1]["unit"] = "ug"
    path = filled(folder, rows, {0: "0.0075", 1: "7"}, uncertainty="0.0005", unit="mg")

    assert 2 == told(run("in", path, "--json"))["taken"]

    with vl.open_ledger(folder / "ledger.db") as ledger:
        verdict = ledger.verdicts([bytes.fromhex(rows[0]["case"])]).popitem()[1]
    assert (7.5, 0.5, "µg") == (verdict.score, verdict.uncertainty, verdict.unit)
    assert {"value": 0.0075, "unit": "mg"} == verdict.evidence["reported"]


def verdict_of(folder: Path, row: dict[str, Any]) -> vl.Verdict:
    with vl.open_ledger(folder / "ledger.db") as ledger:
        return ledger.verdicts([bytes.fromhex(row["case"])]).popitem()[1]


def test_a_bound_is_no_number_and_is_told(run: Run, folder: Path, rows: Rows) -> None:
    path = filled(folder, rows, {0: "≤ 0.05"}, unit="mg", note="below detection")

    assert 1 == told(run("in", path, "--json"))["taken"]

    verdict = verdict_of(folder, rows[0])
    assert (vl.Outcome.ABSTAIN, None) == (verdict.outcome, verdict.score)
    assert "scale: <= 50 µg, a bound and no number" == verdict.reason
    assert {"relation": "<=", "value": 50.0} == verdict.evidence["bound"]
    assert {"value": "<= 0.05", "unit": "mg"} == verdict.evidence["reported"]
    assert "below detection" == verdict.evidence["note"]


def test_another_bound_is_another_answer(run: Run, folder: Path, rows: Rows) -> None:
    assert 0 == run("in", filled(folder, rows, {0: "< 5"})).exit_code

    assert 1 == told(run("in", filled(folder, rows, {0: "< 5.0"}), "--json"))["known"]
    assert 1 == run("in", filled(folder, rows, {0: "< 4"})).exit_code


def test_a_failed_measurement_is_told_and_is_no_reject(run: Run, folder: Path, rows: Rows) -> None:
    path = filled(folder, rows, {0: "Failed"}, note="the pan fell")

    assert 1 == told(run("in", path, "--json"))["taken"]

    verdict = verdict_of(folder, rows[0])
    assert (vl.Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "the measurement failed" == verdict.reason
    assert (True, "the pan fell") == itemgetter("measurement_failed", "note")(verdict.evidence)


def test_where_no_case_is_open_no_work_order_is_written(
    run: Run, folder: Path, rows: Rows
) -> None:
    path = filled(folder, rows, dict.fromkeys(range(len(TEXTS)), "7"))
    assert len(TEXTS) == told(run("in", path, "--json"))["taken"]

    assert 1 == run("out", "--out", folder / "none.csv").exit_code
    assert not (folder / "none.csv").exists()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "another quantity": ({"unit": "mM"}, "'mM' and 'µg' measure different things"),
    "another prefix": ({"unit": "Mg"}, "must lie between 0 and 100 µg"),
    "a unit that nobody knows": ({"unit": "heaps"}, "the unit is 'heaps'; scale takes µg"),
    "an expression for a unit": ({"unit": "9**9**9**9 g"}, "is no unit that can be converted"),
    "no unit": ({"unit": ""}, "no unit is given; scale takes µg"),
    "out of bounds": ({"value": "101"}, "must lie between 0 and 100 µg"),
    "no number": ({"value": "7,5"}, "'7,5' is no answer"),
    "half a bound": ({"value": "< "}, "'<' is no bound"),
    "a range": ({"value": "< 0.1 and more"}, "is no bound"),
    "a bound that can't be": ({"value": "> 100"}, "can't be an answer of scale: it is <= 100"),
    "a bound that is sure": ({"value": "< 1", "uncertainty": "1"}, "a bound, which has no"),
    "a failure that is sure": ({"value": "failed", "uncertainty": "1"}, "no number, which has no"),
    "yes": ({"value": "yes"}, "not yes or no"),
    "not finite": ({"value": "nan"}, "is no answer"),
    "an unknown case": ({"case": "ab" * 32}, "has not asked the world about abababababababab"),
    "no case": ({"case": "7"}, "copy the column 'case'"),
    "a slipped row": ({"candidate": "CCN"}, "rows may have slipped"),
    "another verifier": ({"verifier": "stove"}, "rows may have slipped"),
    "no uncertainty": ({"uncertainty": "-1"}, "is no uncertainty"),
}  # fmt: skip


def test_every_bad_row_is_told_with_its_line_and_then_nothing_is_taken(
    run: Run, folder: Path, rows: Rows
) -> None:
    for name, (columns, message) in BAD.items():
        path = filled(folder, rows, {0: "7", 1: "8"}, **columns)
        done = run("in", path)
        assert 1 == done.exit_code, name
        assert "line 2: " in done.stderr, name
        assert message in done.stderr, name
        assert "nothing was taken" in done.stderr, name
    assert [] == reviews(folder)


def test_two_rows_for_one_case_are_refused(run: Run, folder: Path, rows: Rows) -> None:
    path = filled(folder, [*rows, rows[0]], {0: "7", 4: "7"})

    done = run("in", path)

    assert 1 == done.exit_code
    assert "line 2 answers this case too" in done.stderr


def test_good_rows_are_taken_where_that_is_asked_for_and_the_entry_says_so(
    run: Run, folder: Path, rows: Rows
) -> None:
    path = filled(folder, rows, {0: "700", 1: "7", 2: "8"})

    done = run("in", path, "--only-good", "--json")

    assert 0 == done.exit_code
    assert (2, 1) == (told(done)["taken"], told(done)["blank"])
    assert [2] == [row["line"] for row in told(done)["bad_rows"]]
    assert all("without 1 bad row" in facts["event"] for facts in reviews(folder))

    mended = filled(folder, rows, {0: "70", 1: "7", 2: "8"})
    assert (1, 2) == itemgetter("taken", "known")(told(run("in", mended, "--json")))


SAVED: dict[str, tuple[str, str, list[str]]] = {
    "UTF-16 with its mark": ("utf-16", ",", []),
    "one byte a character": ("cp1252", ",", ["--encoding", "cp1252"]),
    "decimal commas": ("utf-8", ";", ["--decimal-comma"]),
    "both": ("cp1252", ";", ["--encoding", "cp1252", "--decimal-comma"]),
}


@pytest.mark.parametrize("how", SAVED)
def test_a_table_is_read_as_a_spreadsheet_may_have_saved_it(
    run: Run, folder: Path, rows: Rows, how: str
) -> None:
    encoding, separator, options = SAVED[how]
    number = "7,5" if separator == ";" else "7.5"
    path = saved(folder, rows, encoding, separator, value=number, uncertainty="0", note="zwölf µg")

    done = run("in", path, "--json", *options)

    assert 0 == done.exit_code, done.output
    with vl.open_ledger(folder / "ledger.db") as ledger:
        verdict = ledger.verdicts([bytes.fromhex(rows[0]["case"])]).popitem()[1]
    assert (7.5, 0.0, "zwölf µg") == (verdict.score, verdict.uncertainty, verdict.evidence["note"])


def saved(folder: Path, rows: Rows, encoding: str, separator: str, **columns: str) -> Path:
    """The first row of a work order, with more in it, as a spreadsheet saves it."""
    path = folder / "saved.csv"
    with path.open("w", newline="", encoding=encoding) as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerow(rows[0] | columns)
    return path


UNDECLARED: dict[str, tuple[str, list[str], str, str]] = {
    "one byte a character": ("cp1252", [], "7", "is not UTF-8"),
    "a decimal comma": ("utf-8", [], "7,5", "say --decimal-comma"),
    "a thousands' point": ("utf-8", ["--decimal-comma"], "1.234,5", "digits and one comma"),
    "a decimal point": ("utf-8", ["--decimal-comma"], "7.5", "digits and one comma"),
    "thousands' commas": ("utf-8", ["--decimal-comma"], "1,234,567", "digits and one comma"),
}


@pytest.mark.parametrize("what", UNDECLARED)
def test_what_was_not_declared_is_not_guessed(
    run: Run, folder: Path, rows: Rows, what: str
) -> None:
    encoding, options, value, message = UNDECLARED[what]
    path = saved(folder, rows, encoding, ";" if options else ",", value=value, note="zwölf")

    done = run("in", path, *options)

    assert 1 == done.exit_code
    assert message in " ".join(done.stderr.split())
    assert [] == reviews(folder)


def test_another_answer_to_a_case_that_was_answered_is_a_bad_row(
    run: Run, folder: Path, rows: Rows
) -> None:
    assert 0 == run("in", filled(folder, rows, {0: "7"})).exit_code

    done = run("in", filled(folder, rows, {0: "8", 1: "9"}))

    assert 1 == done.exit_code
    assert "was answered before with accept 7" in done.stderr
    assert 1 == len(reviews(folder))


def test_a_number_in_the_column_of_candidates_is_compared_too(
    run: Run, folder: Path, rows: Rows
) -> None:
    (folder / "results.json").write_text(json.dumps([{**rows[0], "value": 7, "candidate": 5}]))

    done = run("in", folder / "results.json", "--json")

    assert (1, True) == (done.exit_code, "rows may have slipped" in done.output)


@pytest.mark.parametrize("form", ["array", "lines"])
def test_json_is_read_too(run: Run, folder: Path, form: str) -> None:
    assert 0 == run("out", "--out", folder / "order.json").exit_code
    orders = json.loads((folder / "order.json").read_text())
    table = [{**row, "value": 7.5} for row in orders]
    whole = json.dumps(table) if form == "array" else "\n".join(map(json.dumps, table))
    (folder / "results.json").write_text(whole)

    done = run("in", folder / "results.json", "--json")

    assert 4 == told(done)["taken"], done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case;value\nab;7\n", "has no column 'case'"),
        ('[{"case": 1, "case": 2}]', "gives 'case' twice"),
        ("[" * 100_000, "is not JSON"),
        ('[{"case": "ab"}]', "has no column 'value'"),
        ("case,value" + ",x" * 200_000, "200,002 columns"),
        ("case,value" + "\n,7" * 100_001, "Hand it in as several files"),
        (json.dumps([dict.fromkeys(map(str, range(200_000)))])[:-2] + ', "7": 1}]', "'7' twice"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    run: Run, folder: Path, text: str, message: str
) -> None:
    path = folder / ("results.json" if text.startswith("[") else "results.csv")
    path.write_text(text)

    done = run("in", path)

    assert 2 == done.exit_code
    assert message in done.stderr


def test_replicates_are_rows_of_their_own(tmp_path: Path) -> None:
    class Twice(Scale):
        """Wants every weight twice."""

        name, replicates, unit = "scale-twice", 2, ""

    REGISTRY.add(Twice())
    ladder = vl.Ladder("twice", [Twice()], budget={"world": "unlimited"})
    open_campaign = partial(
        vl.Campaign.open, "twice", ladder=ladder, ledger=tmp_path / "ledger.db"
    )
    with open_campaign() as campaign:
        campaign.score(["CCO"], deadline=0)
        approve(campaign.ledger, "twice", 2, by="the head")
    vladder = partial(CliRunner().invoke, app)
    place = ["--ledger", str(tmp_path / "ledger.db")]
    file = tmp_path / "order.json"

    for number, value in enumerate((4.0, 5.0), 1):
        with open_campaign() as campaign:  # What was answered may bring up the next case later.
            assert campaign.drain(300)
        assert 0 == vladder(["case", "out", "--out", str(file), *place]).exit_code
        (row,) = json.loads(file.read_text())
        assert f"{number} of 2" == row["replicate"]
        file.write_text(json.dumps([{**row, "value": value}]))
        done = vladder(["case", "in", str(file), *place, "--json"])
        assert 1 == told(done)["taken"], done.output

    with open_campaign() as campaign:
        assert campaign.drain(300)
        assert 4.5 == [*campaign.revisions()][-1].reward.value
