"""What a learner gets beside a number: feedback, turns and named scores, and never an answer.

1. A judge of trajectories says how good each turn was, scores by name, and what to do better.
2. The reward rule makes one number of them, and so does a tier of several verifiers.
3. The reward carries it all, over HTTP, in files and from the ledger; the value is computed again
   from the ledger, bit for bit.
4. A verifier hides the task's answer: no word that reaches a learner holds it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import verifier_ladder as vl
from verifier_ladder.client.wire import reward_from
from verifier_ladder.ledger.export import flat_rows
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.server.app import create_app

WEIGHTS = {"outcome": 2.0, "process": 1.0, "style": 1.0}


@vl.verifier(tier="fast", kind="text", version="1", reads_turns=True, isolation="inline")
def judge(candidate: vl.Candidate) -> vl.Verdict:
    """Judge a trajectory: the end, each turn and the style."""
    called = [isinstance(turn.action, vl.ToolCall) for turn in candidate.turns]
    return vl.Verdict.accept(
        1.0 if candidate.content == "351 K" else 0.0,
        scores={"style": 0.5, "brevity": 1.0},
        feedback="Give the \x1b[31munit\x1b[0m too.",
        turns=tuple(
            vl.TurnVerdict(place, float(is_call), "" if is_call else "call a tool")
            for place, is_call in enumerate(called)
        ),
    )


TRAJECTORY = (
    vl.Turn(
        vl.ToolCall("search", {"query": "boiling point of ethanol"}),
        observation="351 K",
        thought="I don't know it by heart.",
        reward=0.1,
        tokens=(0, 12),
    ),
    vl.Turn(vl.Terminate("351 K"), terminated=True, tokens=(12, 15), compressed=True),
)


def test_a_reward_holds_what_its_learner_can_learn(tmp_path: Path) -> None:
    ladder = vl.Ladder("boiling", [judge], reward=vl.RewardRule(weights=WEIGHTS))
    candidate = vl.Candidate("text", "351 K", turns=TRAJECTORY)

    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db") as campaign:
        (reward,) = campaign.score([candidate])
        (row,) = campaign.ledger.campaigns()
        replayed = replay(campaign.ledger, row)
        verdict, told = flat_rows(campaign.ledger, "c")

    # (2 · 1 + 1 · (1 + 0) / 2 + 1 · 0.5) / 4
    assert 0.75 == reward.value
    assert "Give the unit too." == reward.feedback
    assert [(0, 1.0, ""), (1, 0.0, "call a tool")] == [
        (turn.turn, turn.score, turn.feedback) for turn in reward.turns
    ]
    assert {"style": 0.5, "brevity": 1.0} == reward.scores
    assert {"judge": 1.0} == reward.components  # What it said itself, before anything is weighed.
    assert replayed.is_same
    assert 1 == replayed.rewards
    for row_of in (verdict, told):
        assert {"style": 0.5, "brevity": 1.0} == json.loads(str(row_of["scores"]))
        assert 2 == len(json.loads(str(row_of["turns"])))


def test_the_same_sample_again_gets_the_same_from_the_ledger(tmp_path: Path) -> None:
    ladder = vl.Ladder("boiling", [judge], reward=vl.RewardRule(weights=WEIGHTS))
    sample = vl.Sample(vl.Candidate("text", "78 °C", turns=TRAJECTORY), "run", 0, 0)
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db") as campaign:
        first = campaign.score([sample])
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db") as campaign:
        again = campaign.score([sample])

    assert first == again
    assert "Give the unit too." == again[0].feedback


def test_a_server_tells_it_and_a_client_reads_it() -> None:
    ladder = vl.Ladder("boiling", [judge], reward=vl.RewardRule(weights=WEIGHTS))
    turns = [turn.as_message() for turn in TRAJECTORY]
    body = {"samples": [{"content": "351 K", "turns": turns}]}

    with (
        vl.Campaign.open("c", ladder=ladder) as campaign,
        TestClient(create_app(campaign), base_url="http://127.0.0.1") as client,
    ):
        answer = client.post("/v1/score", json=body)
        (here,) = campaign.score([vl.Candidate("text", "351 K", turns=TRAJECTORY)])

    assert here == reward_from(answer.json()["rewards"][0])


def test_several_verifiers_of_one_tier_make_one_score(tmp_path: Path) -> None:
    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline", weight=3.0)
    def right(candidate: vl.Candidate) -> vl.Verdict:
        is_right = candidate.content == "yes"
        return vl.Verdict.accept(float(is_right), feedback="" if is_right else "wrong")

    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def short(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        return vl.Verdict.accept(0.5, feedback="shorter", scores={"words": 1.0})

    ladder = vl.Ladder("two", [right, short])
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db") as campaign:
        yes, no = campaign.score(["yes", "no"])
        (row,) = campaign.ledger.campaigns()
        report = replay(campaign.ledger, row)

    assert (3 * 1.0 + 0.5) / 4 == yes.value
    assert 0.5 / 4 == no.value
    assert ("shorter", "wrong\nshorter") == (yes.feedback, no.feedback)
    assert {"short.words": 1.0} == yes.scores
    assert report.is_same


def test_what_is_weighed_and_not_given_is_not_zero() -> None:
    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def bare(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    ladder = vl.Ladder("bare", [bare], reward=vl.RewardRule(weights=WEIGHTS))
    with vl.Campaign.open("c", ladder=ladder) as campaign:
        (reward,) = campaign.score(["CCO"])

    assert reward.value is None
    assert "bare gives no process, style" in reward.reason


def test_toml_weighs_scores_and_verifiers(tmp_path: Path) -> None:
    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def ones(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        return vl.Verdict.accept(1.0, scores={"style": 1.0})

    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def zeros(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        return vl.Verdict.accept(0.0, scores={"style": 0.5})

    file = tmp_path / "ladder.toml"
    file.write_text(
        'name = "both"\nkind = "text"\n'
        '[[verifiers]]\nname = "ones"\nweight = 3\n'
        '[[verifiers]]\nname = "zeros"\n'
        "[reward.weights]\noutcome = 1\nstyle = 1\n"
    )
    with vl.Campaign.open("c", ladder=vl.Ladder.from_toml(file)) as campaign:
        (reward,) = campaign.score(["CCO"])

    assert (3 * 1.0 + 0.25) / 4 == reward.value


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_hidden_answers_reach_no_learner(isolation: str, tmp_path: Path) -> None:
    @vl.verifier(
        tier="fast", kind="text", version="1", isolation=isolation,
        task_fields=["answer", "tests"], hidden=["answer", "tests"],
    )  # fmt: skip
    def exam(candidate: vl.Candidate) -> vl.Verdict:
        task = dict(candidate.task or {})
        return vl.Verdict.reject(
            f"expected {task['answer']}, got {candidate.content!s}",
            feedback=f"the answer is {task['answer']}; 1 of 3 tests failed",
            turns=(vl.TurnVerdict(0, 0.0, f"failed on {task['tests'][0]}"),),
            scores={"returns_lighthouse": 0.0},
            evidence={"seen": [f"not {task['answer']}"]},
        )

    task = {"answer": 42, "tests": ["find('lighthouse') == 3", "lighthouse"]}
    with vl.Campaign.open("c", ladder=vl.Ladder("exam", [exam]), ledger=tmp_path / "l.db") as c:
        (reward,) = c.score([vl.Candidate("text", "41", task)])
        rows = list(flat_rows(c.ledger, "c"))

    assert "expected [hidden], got 41" == reward.reason
    assert "the answer is [hidden]; 1 of 3 tests failed" == reward.feedback
    assert "failed on [hidden]" == reward.turns[0].feedback
    assert ["hidden_1"] == list(reward.scores)
    told = json.dumps(rows)
    assert "lighthouse" not in told
    assert "42" not in str(rows[0]["evidence"])
