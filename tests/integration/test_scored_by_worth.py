"""A row of a file passes by what is known of it, and not by a reward that a draw has corrected."""

import json
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.policies import Thresholds

ROWS = 40
TRUTH, ESTIMATE, PASSES = 0.6, 0.9, 0.5


@vl.verifier(tier="fast", version="1", isolation="inline", deviation=0.01, same_quantity=True)
def sure_of_itself(candidate: vl.Candidate) -> float:
    return ESTIMATE if candidate.content else 0.0


@vl.verifier(tier="high_fidelity", version="1", isolation="inline")
def truth(candidate: vl.Candidate) -> float:
    return TRUTH if candidate.content else 0.0


def test_a_true_pass_whose_reward_was_corrected_below_the_threshold_passes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(
        json.dumps({"prompt_id": str(n // 4), "completion": f"answer {n}"}) + "\n"
        for n in range(ROWS)
    ))  # fmt: skip
    ladder = vl.Ladder(
        "l", [sure_of_itself, truth], audit=0.3, reward=vl.RewardRule(low=0.0, high=1.0),
        policy=Thresholds(thresholds={"high_fidelity": 1000.0}), prior=(ESTIMATE, 0.01),
    )  # fmt: skip

    scored = vl.score_file(
        file, ladder=ladder, ledger=tmp_path / "l.db", pass_at=PASSES,
        columns={"content": "completion", "group": "prompt_id"}, out=tmp_path / "out.jsonl",
    )  # fmt: skip

    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    low = [row for row in rows if row["reward"] < PASSES]
    assert low, "no reward was corrected below the threshold; the rest would prove nothing"
    assert [True] * ROWS == [row["passed"] for row in rows]
    assert [pytest.approx(TRUTH)] * len(low) == [row["worth"] for row in low]
    assert 1.0 == scored.statistics.passes[1].value
    assert scored.statistics.mean is not None
    told = [row["reward"] for row in rows]
    assert scored.statistics.mean.value == pytest.approx(sum(told) / ROWS)
