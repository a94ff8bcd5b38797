"""Warm starts: what was verified elsewhere is neither paid for nor forgotten."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import forked
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.summary import summarise

Open = Callable[[], vl.Campaign]
TEXTS = ["x" * n for n in range(1, 13)]
ROWS = [{"content": text, "cheap": len(text), "dear": len(text) + 0.5} for text in TEXTS]


class Asked(vl.Verifier):
    """Tells how often it was asked; in this process, so that it can."""

    kind, isolation, version = "text", "inline", "1"

    def __init__(self, name: str, tier: str, shift: float = 0.0) -> None:
        self.name, self.tier, self.shift = name, tier, shift
        self.asked: list[str | bytes] = []
        super().__init__(shift=shift)

    def verify(self, candidates: Any) -> list[float]:
        self.asked += [candidate.content for candidate in candidates]
        return [len(candidate.content) + self.shift for candidate in candidates]


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits = "oracle", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


class Stripped(Canonicaliser):
    """Drops spaces; text may be refused, and may bring its worker down."""

    kind, name, timeout = "text", "stripped", 5.0

    def canonicalise(self, content: str | bytes) -> str | bytes:
        if content == "crash":
            os._exit(1)
        if content == "refused":
            raise vl.CandidateError("it is refused")
        return content.strip()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


@pytest.fixture
def ladder() -> vl.Ladder:
    return vl.Ladder("l", [Asked("cheap", "fast"), Asked("dear", "simulation", 0.5)])


@pytest.fixture
def warm(ledger: Ledger, ladder: vl.Ladder) -> Open:
    """Open the campaign."""
    return partial(vl.Campaign.open, "warm", ladder=ladder, ledger=ledger, workers=1)


def asked(ladder: vl.Ladder) -> list[str | bytes]:
    return [content for v in ladder.verifiers if isinstance(v, Asked) for content in v.asked]


def test_what_is_imported_is_never_asked_again(warm: Open, ladder: vl.Ladder) -> None:
    with warm() as campaign:
        report = campaign.import_verdicts(ROWS, source="last year")
        rewards = campaign.score(TEXTS)

    assert (12, 24, 0, 12) == (report.rows, report.verdicts, report.known, report.taught)
    assert [row["dear"] for row in ROWS] == [reward.value for reward in rewards]
    assert [] == asked(ladder)


def test_beliefs_start_with_what_was_imported(warm: Open) -> None:
    with warm() as campaign:
        (cold,) = campaign.score(["c" * 6])
        campaign.import_verdicts(ROWS, source="last year")
        (warmer,) = campaign.score(["w" * 6])
    with warm() as campaign:
        (again,) = campaign.score(["a" * 6])

    assert 6.0 == cold.value
    # Whether the first was drawn for an audit moves what is believed a little.
    assert [6.5, 6.5] == [pytest.approx(reward.value, abs=0.25) for reward in (warmer, again)]


def test_no_imported_answer_counts_as_a_random_audit(warm: Open, ledger: Ledger) -> None:
    with warm() as campaign:
        campaign.import_verdicts(ROWS, source="last year")

    (entry,) = ledger.entries(kind="belief", campaign="warm")

    assert [None] * 12 == ledger.read(entry).facts["lessons"]["audits"]


def test_a_verdict_tells_where_it_came_from(warm: Open, ledger: Ledger) -> None:
    with warm() as campaign:
        campaign.import_verdicts(ROWS, source="last year")

    (entry,) = ledger.entries(kind="import", campaign="warm")
    block = ledger.read(entry)

    assert {"source": "last year"} == block.facts
    assert all({"source": "last year"} == row.verdict.evidence for row in block.verdicts)


def test_the_same_rows_again_change_nothing(warm: Open, ledger: Ledger) -> None:
    bad = [{"content": 7}, {"content": "x", "cheap": "many"}]
    with warm() as campaign:
        first = campaign.import_verdicts([*ROWS, *bad], source="last year")
        before = ledger.newest()
        again = campaign.import_verdicts([*ROWS, *bad], source="last year")
        assert before == ledger.newest()
    with warm() as campaign:  # Its run is a new entry.
        before = ledger.newest()
        reopened = campaign.import_verdicts([*ROWS, *bad], source="last year")

    assert before == ledger.newest()
    assert (0, 24, 0) == (again.verdicts, again.known, again.taught)
    assert again == reopened
    assert first.bad_rows == again.bad_rows


def test_a_row_that_contradicts_what_is_known_is_skipped_whole(
    warm: Open, ladder: vl.Ladder
) -> None:
    with warm() as campaign:
        campaign.score(["abc"])
        campaign.drain("300 s")
        report = campaign.import_verdicts(
            [
                {"content": "abc", "cheap": 3.0, "dear": 9.0},
                {"content": "new", "cheap": 1.0, "dear": None},
                {"content": "new", "cheap": 2.0, "dear": 5.0},
            ],
            source="somebody",
        )
        after = campaign.score(["abc", "new"])

    assert [1, 3] == [row.line for row in report.bad_rows]
    assert "the ledger accept with 3.5" in report.bad_rows[0].reason
    assert "an earlier row accept with 1" in report.bad_rows[1].reason
    assert (1, 0) == (report.verdicts, report.taught)
    assert [3.5, {"cheap": 1.0}] == [after[0].value, after[1].components]
    assert ["abc", "abc"] == asked(ladder)[:2]


def test_only_what_was_asked_is_imported_and_the_rest_is_asked_later(
    warm: Open, ladder: vl.Ladder
) -> None:
    with warm() as campaign:
        report = campaign.import_verdicts([{"content": "abc", "cheap": None, "dear": 4.0}],
                                          source="a laboratory")  # fmt: skip
        (reward,) = campaign.score(["abc"])

    assert (1, 1) == (report.verdicts, report.taught)
    assert 4.0 == reward.value
    assert ["abc"] == asked(ladder)


def test_an_open_case_is_answered_by_an_import(ledger: Ledger) -> None:
    ladder = vl.Ladder("l", [Asked("cheap", "fast"), Oracle()], budget={"world": "unlimited"})
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger, workers=1) as campaign:
        campaign.score(["abc", "abcd"], deadline=300)
        report = campaign.import_verdicts([{"content": "abc", "oracle": 7.0}], source="a letter")
        (revision,) = campaign.revisions()
        again = campaign.import_verdicts([{"content": "abc", "oracle": 7.0}], source="a letter")

        assert ["abcd"] == [case.candidate.content for case in campaign.cases()]

    assert (1, 1, 0) == (report.verdicts, report.answered, report.taught)
    assert (0, 7.0) == (revision.position, revision.reward.value)
    assert (0, 1, 0) == (again.verdicts, again.known, again.taught)


def test_a_queued_check_is_answered_and_not_paid(warm: Open, ladder: vl.Ladder) -> None:
    with warm() as campaign:
        campaign.ledger.pause("warm", 1)
        campaign.score(["abc"])
        report = campaign.import_verdicts([{"content": "abc", "dear": 4.0}], source="elsewhere")
        campaign.drain("300 s")
        values = [revision.reward.value for revision in campaign.revisions()]

        assert [CheckState.DONE] == [check.state for check in campaign.ledger.checks()]

    assert 1 == report.answered
    assert [4.0] == values
    assert ["abc"] == asked(ladder)


def test_spellings_of_one_candidate_are_one(ledger: Ledger) -> None:
    ladder = vl.Ladder("l", [Asked("cheap", "fast")], canonicaliser=Stripped())
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger, workers=1) as campaign:
        report = campaign.import_verdicts(
            [
                {"content": "abc ", "cheap": 3.0}, {"content": " abc", "cheap": 3.0},
                {"content": "refused", "cheap": 1.0}, {"content": "crash", "cheap": 1.0},
                {"content": "fine", "cheap": 4.0},
            ],
            source="a file",
        )  # fmt: skip
        rewards = campaign.score(["abc", "fine "])

    assert (2, 1) == (report.verdicts, report.known)
    assert [(3, "it is refused")] == [tuple(row) for row in report.bad_rows[:1]]
    assert 4 == report.bad_rows[1].line
    assert "on this candidate, each time it was tried" in report.bad_rows[1].reason
    assert [3.0, 4.0] == [reward.value for reward in rewards]
    assert [] == asked(ladder)


def test_tasks_are_told_apart(ledger: Ledger) -> None:
    def exact(candidate: vl.Candidate) -> bool:
        return bool(candidate.content == (candidate.task or {})["answer"])

    verifier = vl.verifier(isolation="inline", task_fields=["answer"])(exact)
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [verifier]), ledger=ledger) as campaign:
        rows = [
            {"content": "4", "task": {"answer": "4"}, "exact": True},
            {"content": "4", "task": {"answer": "5"}, "exact": False},
        ]
        report = campaign.import_verdicts(rows, source="a file")
        rewards = campaign.score([vl.Candidate("text", "4", row["task"]) for row in rows])  # type: ignore[arg-type]

    assert 2 == report.verdicts
    assert [1.0, 0.0] == [reward.value for reward in rewards]


def test_a_warm_start_replays(warm: Open, ledger: Ledger) -> None:
    with warm() as campaign:
        campaign.import_verdicts(ROWS, source="last year")
        campaign.score([*TEXTS, "new"])
        campaign.drain("300 s")

    report = replay(ledger, ledger.campaigns()[0])

    assert report.is_same, report.differences
    assert report.rewards > 12


def test_a_summary_counts_no_check_for_what_was_imported(warm: Open, ledger: Ledger) -> None:
    with warm() as campaign:
        campaign.import_verdicts(ROWS, source="last year")
        campaign.score([*TEXTS, "new"])
        campaign.drain("300 s")

    summary = summarise(ledger, "warm")

    assert [(13, 1), (13, 1)] == [(tier.accepted, tier.checks) for tier in summary.tiers]


def test_a_file_is_imported(warm: Open, tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("content,cheap,dear\nabc,3,3.5\nabcd,,4.5\n,1,1\n")

    with warm() as campaign:
        report = campaign.import_verdicts(path, source="old.csv")

    assert (3, 3, 2, [4]) == (
        report.rows, report.verdicts, report.taught, [row.line for row in report.bad_rows]
    )  # fmt: skip


def test_an_unknown_column_imports_nothing(warm: Open, ledger: Ledger) -> None:
    with warm() as campaign:
        before = ledger.newest()
        with pytest.raises(vl.ConfigError, match="'deer'; it has 'cheap', 'dear'"):
            campaign.import_verdicts([*ROWS, {"content": "a", "deer": 1}], source="last year")

    assert before == ledger.newest()


ATTACHED = """
import sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1")
def cheap(candidate):
    raise RuntimeError("never asked")

ladder = vl.Ladder("l", [cheap])
campaign = vl.Campaign.open("shared", ladder=ladder, ledger="ledger.db", workers=1)
print("open", flush=True)
rows = [{"content": "a", "cheap": 1.0}, {"content": "b", "cheap": 2.0}, {"content": 3}]
if sys.stdin.readline() == "import\\n":
    print(campaign.import_verdicts(rows, source="a file").verdicts, flush=True)
print([reward.value for reward in campaign.score(["a", "b"])], flush=True)
sys.stdin.readline()
"""


def test_an_attached_process_imports_at_the_home(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ATTACHED)
    start = partial(
        forked.Popen, [sys.executable, script], cwd=tmp_path, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with start() as home:
        assert home.stdout is not None
        assert "open\n" == home.stdout.readline()
        with start() as other:
            told, _ = other.communicate("import\n\n", timeout=300)
        said, _ = home.communicate("score\n\n", timeout=300)

    assert ["open", "2", "[1.0, 2.0]"] == told.splitlines()
    assert ["[1.0, 2.0]"] == said.splitlines()


TABLES = st.lists(
    st.fixed_dictionaries({
        "content": st.sampled_from(TEXTS[:4]), "cheap": st.sampled_from([None, 1.0]),
        "dear": st.sampled_from([None, 2.0]),
    }),
    max_size=8,
)  # fmt: skip


@settings(max_examples=20)  # Each opens a campaign.
@given(st.lists(TABLES, min_size=1, max_size=3))
def test_any_order_of_imports_ends_with_the_same_verdicts(tables: list[Any]) -> None:
    """However rows are cut into calls and repeated, each verdict is new once and taught once."""
    told = [row for table in tables for row in table]
    ladder = vl.Ladder("l", [Asked("cheap", "fast"), Asked("dear", "simulation")])
    with vl.Campaign.open("c", ladder=ladder, workers=1) as campaign:
        reports = [
            campaign.import_verdicts(table, source="some") for table in tables if table
        ]  # fmt: skip

    cells = [(row["content"], name) for row in told for name in ("cheap", "dear") if row[name]]
    assert len(set(cells)) == sum(report.verdicts for report in reports)
    assert len(cells) == sum(report.verdicts + report.known for report in reports)
    assert len({text for text, name in cells if name == "dear"}) == sum(
        report.taught for report in reports
    )
