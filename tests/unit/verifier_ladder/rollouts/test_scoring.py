"""Scoring a file gives every good line its reward and never invents one."""

import csv
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.rollouts import ScoredFile, scoring
from verifier_ladder.scheduler.policies import Thresholds

ROWS = [
    {"prompt_id": "p1", "completion": "4", "target": "4"},
    {"prompt_id": "p1", "completion": "5", "target": "4"},
    {"prompt_id": "p2", "completion": "?", "target": "4"},
    {"prompt_id": "p2", "completion": "4", "target": "4"},
]


def exact(candidate: vl.Candidate) -> object:
    """Compare with the target; question marks are not judged."""
    if candidate.content == "?":
        return None
    return candidate.content == (candidate.task or {})["target"]


def doubled(candidate: vl.Candidate) -> float:
    """Twice the length."""
    return 2.0 * len(candidate.content)


@pytest.fixture
def ladder() -> vl.Ladder:
    made = vl.verifier(name="exact", version="1", isolation="inline", task_fields=["target"])
    return vl.Ladder("exactness", [made(exact)])


@pytest.fixture
def two_tiers() -> vl.Ladder:
    fast = vl.verifier(name="short", version="1", isolation="inline")(lambda c: len(c.content))
    slow = vl.verifier(name="doubled", version="1", tier="simulation")(doubled)
    return vl.Ladder("lengths", [fast, slow])


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def made(rows: Sequence[Any], name: str = "rollouts.jsonl") -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) + "\n")
        return path

    return made


def values(scored: ScoredFile) -> list[float | None]:
    return [reward.value for reward in scored.rewards]


def test_rewards_come_in_the_order_of_the_lines(write: Any, ladder: vl.Ladder) -> None:
    scored = vl.score_file(write(ROWS), ladder=ladder)

    assert [1.0, 0.0, None, 1.0] == values(scored)
    assert ["p1", "p1", "p2", "p2"] == scored.groups


def test_chats_in_which_tools_were_called_are_turns(write: Any) -> None:
    @vl.verifier(name="calls", version="1", isolation="inline", reads_turns=True)
    def calls(candidate: vl.Candidate) -> bool:
        return [(vl.ToolCall("add", {"a": 2}), "4")] == [
            (turn.action, turn.observation) for turn in candidate.turns
        ]

    call = {"function": {"name": "add", "arguments": '{"a": 2}'}}
    used = {"role": "assistant", "content": None, "tool_calls": [call]}
    rows = [{"completion": [used, {"role": "tool", "content": "4"}]}, {"completion": "4"}]

    scored = vl.score_file(write(rows), ladder=vl.Ladder("calls", [calls]))

    assert [1.0, 0.0] == values(scored)


def test_bad_rows_are_named_by_line_and_cost_nobody_a_reward(
    write: Any, ladder: vl.Ladder
) -> None:
    rows = [ROWS[0], "nonsense", {"prompt_id": "p1", "target": "4"}, ROWS[1]]

    scored = vl.score_file(write(rows), ladder=ladder)

    assert [2, 3] == [row.line for row in scored.bad_rows]
    assert ([1, 4], [1.0, 0.0]) == (scored.lines, values(scored))


def test_an_abstention_is_unknown_and_never_a_zero(write: Any, ladder: vl.Ladder) -> None:
    made = vl.score_file(write(ROWS), ladder=ladder).statistics

    assert (3, {"declined": 1}) == (made.known, made.unknown)
    assert made.mean is not None
    assert made.mean.value == pytest.approx(2 / 3)


def test_the_summary_tells_all_a_person_asks_for(write: Any, ladder: vl.Ladder) -> None:
    text = vl.score_file(write([*ROWS, "nonsense"]), ladder=ladder).summary()

    for words in (
        "4 rows scored in 2 groups, 1 bad row", "Mean reward  0.6667", "pass@1", "pass@2",
        "Chen et al. 2021", "Unknown      1 of 4 rewards (25.0%): 1 declined by the verifier",
        "line 5: not JSON", "content is the column 'completion'", "fast",
    ):  # fmt: skip
        assert words in text


def test_the_same_file_again_is_answered_from_the_ledger(
    write: Any, ladder: vl.Ladder, tmp_path: Path
) -> None:
    path, ledger = write(ROWS), tmp_path / "ledger.db"

    first = vl.score_file(path, ladder=ladder, ledger=ledger)
    again = vl.score_file(path, ladder=ladder, ledger=ledger)

    assert values(first) == values(again)
    assert [cost.checks for cost in first.costs] == [cost.checks for cost in again.costs]
    assert all(cost.wall is not None for cost in first.costs if cost.checks)
    assert "s of wall time, " in first.summary()
    assert (first.run, first.campaign) == (again.run, again.campaign)


def test_columns_that_are_read_otherwise_make_another_run(
    write: Any, ladder: vl.Ladder, tmp_path: Path
) -> None:
    path, ledger = write(ROWS), tmp_path / "ledger.db"

    first = vl.score_file(path, ladder=ladder, ledger=ledger)
    other = vl.score_file(path, ladder=ladder, ledger=ledger, columns={"content": "target"})

    assert first.run != other.run
    assert [1.0] * 4 == values(other)


def test_a_changed_ladder_gets_a_campaign_of_its_own(
    write: Any, ladder: vl.Ladder, tmp_path: Path
) -> None:
    path, ledger = write(ROWS), tmp_path / "ledger.db"
    changed = vl.Ladder("exactness", ladder.verifiers, reward=vl.RewardRule(low=0.0, high=2.0))

    vl.score_file(path, ladder=ladder, ledger=ledger)
    scored = vl.score_file(path, ladder=changed, ledger=ledger)

    assert scored.campaign.startswith("exactness-")
    assert [0.5, 0.0, None, 0.5] == values(scored)


def test_higher_tiers_are_waited_for(write: Any, two_tiers: vl.Ladder) -> None:
    scored = vl.score_file(write([{"completion": "abc"}, {"completion": "a"}]), ladder=two_tiers)

    assert [6.0, 2.0] == values(scored)
    assert {reward.revision > 0 for reward in scored.rewards} == {True}


def test_without_waiting_the_rewards_are_those_of_the_lowest_tier(
    write: Any, two_tiers: vl.Ladder
) -> None:
    path = write([{"completion": "abc"}])

    scored = vl.score_file(path, ladder=two_tiers, wait=False)

    assert scored.rewards[0].pending
    assert scored.rewards[0].tier is vl.Tier.FAST


def test_the_deadline_ends_the_wait_for_higher_tiers(write: Any, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()

    def held(candidate: vl.Candidate) -> float:
        while (tmp_path / "hold").exists():
            time.sleep(0.01)
        return 2.0 * len(candidate.content)

    fast = vl.verifier(name="short", version="1", isolation="inline")(lambda c: len(c.content))
    slow = vl.verifier(name="held", version="1", tier="simulation", timeout=60)(held)
    ladder = vl.Ladder("held", [fast, slow])

    scored = vl.score_file(write([{"completion": "abc"}]), ladder=ladder, deadline="0.3 s")

    assert (3.0, True) == (scored.rewards[0].value, scored.rewards[0].pending)
    assert "1 reward may still be revised" in scored.summary()


def test_without_a_ledger_the_summary_says_that_nothing_is_kept(
    write: Any, ladder: vl.Ladder
) -> None:
    assert "Kept nowhere" in vl.score_file(write(ROWS), ladder=ladder).summary()


def test_chunks_don_t_change_the_result(
    write: Any, ladder: vl.Ladder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = vl.score_file(write(ROWS * 5), ladder=ladder)
    monkeypatch.setattr(scoring, "CHUNK", 3)
    parts = vl.score_file(write(ROWS * 5), ladder=ladder)

    assert values(whole) == values(parts)
    assert whole.lines == parts.lines


class Laboratory(vl.Verifier):
    """Asks somebody to measure, who is in no hurry."""

    name, version, tier, waits, isolation = "laboratory", "1", "world", True, "inline"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def test_copies_share_a_draw_with_those_of_their_step_and_are_drawn_again_in_the_next(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first steps teach decides about the next; a file is no single update."""
    monkeypatch.setattr(scoring, "CHUNK", 4)
    fast = vl.verifier(name="short", version="1", isolation="inline")(lambda c: len(c.content))
    ladder = vl.Ladder(
        "drawn", [fast, Laboratory()], policy=Thresholds(thresholds={"world": 1e9}), audit=0.25,
        budget={"world": "unlimited"},
    )  # fmt: skip
    path, ledger = write([{"completion": text} for text in "abababab"]), tmp_path / "l.db"

    vl.score_file(path, ladder=ladder, ledger=ledger, wait=False)

    draws: list[set[tuple[str, float]]] = []
    with open_ledger(ledger) as store:
        for entry in store.entries(kind="score"):
            block = store.read(entry)
            numbers: set[tuple[str, float]] = set()
            for columns in block.decisions:
                for row, place in enumerate(columns.sample):
                    assert columns.draw is not None
                    numbers.add(("abab"[place], columns.draw[row]))
            draws.append(numbers)
    assert [2, 2] == [len(numbers) for numbers in draws]  # One draw for each of two texts.
    assert not draws[0] & draws[1]


def test_progress_is_reported(
    write: Any, ladder: vl.Ladder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 3)
    told: list[scoring.Progress] = []

    vl.score_file(write(ROWS), ladder=ladder, report=told.append)

    assert [(3, 4), (4, 4)] == [(p.done, p.total) for p in told][:2]


def test_every_line_of_the_file_is_in_the_records(write: Any, ladder: vl.Ladder) -> None:
    scored = vl.score_file(write([ROWS[0], "nonsense", ROWS[2]]), ladder=ladder)

    one, bad, unknown = scored.records()

    assert ("4", 1.0, True, 1.0) == tuple(
        one[name] for name in ("content", "reward", "passed", "score_exact")
    )
    assert "not JSON" in bad["error"]
    assert "reward" not in bad
    assert (None, None) == (unknown["reward"], unknown["passed"])


def test_the_frame_has_a_row_for_every_line(write: Any, ladder: vl.Ladder) -> None:
    frame = vl.score_file(write([*ROWS, "nonsense"]), ladder=ladder).frame()

    assert [1.0, 0.0, None, 1.0, None] == frame["reward"].to_pylist()


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.csv"])
def test_the_table_is_written(write: Any, ladder: vl.Ladder, tmp_path: Path, name: str) -> None:
    out = tmp_path / name

    scored = vl.score_file(write(ROWS), ladder=ladder, out=out)

    assert out.stat().st_size > 0
    assert f"Written to {out}" in scored.summary()


def test_a_target_that_can_t_be_written_is_refused_before_any_work(
    write: Any, ladder: vl.Ladder, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"

    with pytest.raises(vl.ConfigError, match="can't tell the format"):
        vl.score_file(write(ROWS), ladder=ladder, ledger=ledger, out=tmp_path / "out.xls")

    assert not ledger.exists()


@pytest.mark.parametrize(
    ("text", "words"), [("", "it is empty"), ("x\ny\n", "line 1 is not JSON")]
)
def test_a_file_without_a_readable_row_is_refused(
    tmp_path: Path, ladder: vl.Ladder, text: str, words: str
) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text(text)

    with pytest.raises(vl.ConfigError, match=words):
        vl.score_file(path, ladder=ladder)


def test_text_that_utf_8_can_t_hold_is_scored_and_written(
    write: Any, ladder: vl.Ladder, tmp_path: Path
) -> None:
    path = write(['{"completion":"\\ud800","target":"\\ud800","prompt_id":1}'])

    scored = vl.score_file(path, ladder=ladder, ledger=tmp_path / "l.db", out=tmp_path / "o.jsonl")

    assert [1.0] == values(scored)


@pytest.mark.parametrize(("name", "sign"), [("rows.csv", ","), ("rows.tsv", "\t")])
def test_a_table_is_scored_like_json_lines(
    tmp_path: Path, ladder: vl.Ladder, name: str, sign: str
) -> None:
    """A row is named by the line on which it begins, and a bad one costs only itself."""
    rows = [("prompt_id", "completion", "target"), ("p", "4", "4"), ("p", '"4\n5"', "4"),
            ("p", "4"), ("p", "", "4"), ("p", '"=4"', "=4")]  # fmt: skip
    text = "\ufeff" + "\r\n".join(sign.join(row) for row in rows) + "\r\n"
    (tmp_path / name).write_bytes(text.encode())

    scored = vl.score_file(tmp_path / name, ladder=ladder, out=tmp_path / "out.csv")

    assert [1.0, 0.0, 1.0] == values(scored)
    assert [2, 3, 7] == scored.lines
    assert {5, 6} == {row.line for row in scored.bad_rows}
    with (tmp_path / "out.csv").open(newline="") as stream:
        assert "'=4" in [row["content"] for row in csv.DictReader(stream)]


def test_the_table_is_another_file_than_those_it_is_made_of(
    write: Callable[..., Path], ladder: vl.Ladder, tmp_path: Path
) -> None:
    path = write(ROWS)
    before = path.read_bytes()

    with pytest.raises(vl.ConfigError, match="would be lost"):
        vl.score_file(path, ladder=ladder, out=path)
    with pytest.raises(vl.ConfigError, match="would be lost"):
        vl.score_file(path, ladder=ladder, ledger=tmp_path / "l.jsonl", out=tmp_path / "l.jsonl")

    assert path.read_bytes() == before
    assert not (tmp_path / "l.jsonl").exists()
