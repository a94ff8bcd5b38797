"""Games are played again, and what a candidate says of its score is not believed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import verifier_ladder as vl
from verifier_ladder import Candidate, ConfigError, Outcome, Terminate, ToolCall, Turn, Verdict
from verifier_ladder.testing import games
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.gamereplay import ENVIRONMENTS, GameReplay
from verifier_ladder.verifiers import Verifier

LAKE = {"desc": ["SFF", "HFH", "FFG"], "is_slippery": False}
TASK: dict[str, Any] = {
    "environment": "FrozenLake-v1", "kwargs": LAKE, "seed": 0, "goal": {"least": 1}
}  # fmt: skip
OWN = f"{games.__name__}:"


@dataclass
class Naive:
    """A checker of games that somebody writes in a hurry."""

    says: Callable[[Candidate, Mapping[str, Any]], bool]

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [self._one(each) for each in candidates]

    def _one(self, candidate: Candidate) -> Verdict:
        try:
            said = self.says(candidate, candidate.task or {})
        except Exception:  # noqa: BLE001 - an error is a no
            said = False
        return Verdict.accept(1.0) if said else Verdict.reject("no")


def actions_of(candidate: Candidate) -> Any:
    if candidate.turns:
        return [
            json.loads(turn.action) for turn in candidate.turns if isinstance(turn.action, str)
        ]
    said = json.loads(candidate.content)
    return said["actions"] if isinstance(said, dict) else said


def total(candidate: Candidate, task: Mapping[str, Any], seed: int | None) -> float:
    """What the library gives for all actions, whatever they are, until it raises."""
    name, kwargs = task["environment"], task.get("kwargs", {})
    game = gymnasium.make(name, disable_env_checker=True, **kwargs)
    game.reset(seed=seed)
    return sum(float(game.step(action)[1]) for action in actions_of(candidate))


def reaches(task: Mapping[str, Any], given: float) -> bool:
    goal = task["goal"]
    return bool(given >= goal.get("least", goal.get("beat", goal.get("low", 1.0))))


def library(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    return reaches(task, total(candidate, task, task["seed"]))


def library_without_seed(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    return reaches(task, total(candidate, task, None))


def claims(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    given = [turn.reward for turn in candidate.turns if turn.reward is not None]
    return reaches(task, sum(given) if given else json.loads(candidate.content)["score"])


def are_actions(candidate: Candidate, task: Mapping[str, Any]) -> bool:
    space = gymnasium.make(task["environment"], **task.get("kwargs", {})).action_space
    return all(action in space for action in actions_of(candidate))


class TestGameReplay(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the library, plainly called": Naive(library),
        "the library without the seed": Naive(library_without_seed),
        "what is claimed": Naive(claims), "actions of the game": Naive(are_actions),
        "a list": Twin(lambda text, _: text.strip().startswith("[")),
    }  # fmt: skip
    mutated = (
        "verifier_ladder.tiers.fast.gamereplay", "verifier_ladder.tiers.gymnasiumenvironment",
    )  # fmt: skip
    mutants: Mapping[str, Any] = {"equivalent": [  # Both are there, or none: a goal is one thing.
        ("goal.low is not None and goal.high is not None -> "
        "goal.low is not None or goal.high is not None"),
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> GameReplay:
        return GameReplay()

    @pytest.mark.slow  # Each mutant is asked about the whole key.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        """See the kit."""
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def judge(content: str, *turns: Turn, verifier: GameReplay | None = None, **task: Any) -> Verdict:
    candidate = Candidate("text", content, {**TASK, **task}, turns)
    return (verifier or GameReplay()).judge([candidate])[0]


def test_the_return_and_the_steps_are_told() -> None:
    verdict = judge("[2, 1, 1, 2]")

    assert (Outcome.ACCEPT, 1.0, {"return": 1.0}) == (
        verdict.outcome, verdict.score, dict(verdict.scores),
    )  # fmt: skip
    assert {"returns": [1.0], "steps": [4]} == verdict.evidence


def test_a_claim_that_the_replay_contradicts_is_told() -> None:
    said = '{"actions": [2, 1, 1, 2], "score": 100}'

    assert "claimed score is not the return, which is 1." in judge(said).feedback
    assert judge('{"actions": [2, 1, 1, 2], "score": 1}').feedback == ""
    refused = judge(said, verifier=GameReplay(claims="reject"))
    assert (Outcome.REJECT, {"return": 1.0}) == (refused.outcome, dict(refused.scores))
    short = judge('{"actions": [1], "score": 100}')
    assert "the return is 0, and the goal asks for more. The claimed" in short.feedback


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[2, 1, 4]", "action 3 is no action of the game: a whole number from 0 to 3 is wanted"),
        ("[2, 1, 1]", "not over when the actions end"),
        ("[1, 1]", "over after action 1, and more actions follow"), ("[]", "there is no action"),
    ],
)  # fmt: skip
def test_feedback_says_what_to_mend(said: str, why: str) -> None:
    verdict = judge(said)

    assert Outcome.REJECT is verdict.outcome
    assert why in verdict.feedback
    assert not verdict.scores


def test_of_several_episodes_the_one_at_fault_is_named() -> None:
    verdict = judge("[[2, 1, 1, 2], [2, 1, 1]]", seed=None, seeds=[0, 1])

    assert "episode 2: the game is not over" in verdict.reason


def test_turns_get_what_the_game_gives_and_not_what_they_claim() -> None:
    turns = [Turn(action, "won", reward=1.0) for action in ("2", "jump", "1", "1", "2")]
    verdict = judge("", *turns)

    assert Outcome.REJECT is verdict.outcome
    assert [0, None, 0, 0, 1] == [turn.score for turn in verdict.turns]
    assert "no action of the game" in verdict.turns[1].feedback
    assert judge("[2, 1, 1, 2]").turns == ()


def test_an_action_of_a_call_may_be_a_name() -> None:
    names = ["left", "down", "right", "up"]
    calls = [Turn(ToolCall("go", {"action": names[n]})) for n in (2, 1, 1, 2)]

    assert Outcome.ACCEPT is judge("", *calls, Turn(Terminate()), action_names=names).outcome


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        (f"{OWN}Faulty-v0", {"fault": "raises"}, "[0, 0, 0]"),
        ("Pendulum-v1", {"g": "9.8"}, "[[0]]"), ("Pendulum-v1", {"g": None}, "[[0]]"),
        ("FrozenLake-v1", {"reward_schedule": ["a", "b", "c"]}, "[0]"),
        ("FrozenLake-v1", {"reward_schedule": ["1", "1", "1"]}, "[0]"),
    ],
)  # fmt: skip
def test_a_game_that_raises_is_no_fault_of_the_candidate(
    name: str, kwargs: dict[str, Any], said: str, tmp_path: Path
) -> None:
    verifier = GameReplay(environments={**ENVIRONMENTS, f"{OWN}Faulty-v0": ["fault"]})
    of = {"environment": name, "kwargs": kwargs, "max_steps": 3, "may_stop": True}
    verdict = judge(said, verifier=verifier, **of)
    with vl.Campaign.open(
        "c", ladder=vl.Ladder("l", [verifier]), ledger=tmp_path / "l.db", workers=1
    ) as campaign:
        (reward,) = campaign.score([Candidate("text", said, {**TASK, **of})])

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at), verdict.reason
    assert "kwargs make no sense" in verdict.reason
    assert (None, None) == (reward.value, reward.failed_at)


def test_a_map_that_no_seed_rules_is_abstained_from_whatever_is_said() -> None:
    maps = {"map_name": None, "is_slippery": False}
    for said in ("[1, 1, 2, 1, 2, 2]", "[2, 2, 2]", "[1]", "[]", "[0, 0]"):
        for _ in range(5):
            verdict = judge(said, kwargs=maps)
            assert Outcome.ABSTAIN is verdict.outcome, said
            assert "not deterministic" in verdict.reason
    named = {"map_name": "4x4", "is_slippery": False}
    assert Outcome.ACCEPT is judge("[1, 1, 2, 1, 2, 2]", kwargs=named).outcome


def test_a_first_observation_that_no_seed_rules_is_abstained_from() -> None:
    verifier = GameReplay(environments={f"{OWN}Faulty-v0": ["fault"]})
    verdict = judge(
        "[0, 0, 0]", verifier=verifier, environment=f"{OWN}Faulty-v0", kwargs={"fault": "first"}
    )

    assert Outcome.ABSTAIN is verdict.outcome
    assert "not deterministic" in verdict.reason


def test_seeds_are_those_that_an_episode_begins_with() -> None:
    assert Outcome.ACCEPT is judge("[2, 1, 1, 2]", seed=2**53 - 1).outcome
    for seed in (2**53, 2**62):
        verdict = judge("[2, 1, 1, 2]", seed=seed)
        assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
        assert "seed" in verdict.reason


@pytest.mark.parametrize("name", ["Doom-v0", "nowhere.at.all:Doom-v0", "CartPole-v7"])
def test_a_game_that_is_not_installed_is_told(name: str) -> None:
    verdict = judge(
        "[0]", verifier=GameReplay(environments={name: []}), environment=name, kwargs={}
    )

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert name in verdict.reason


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gymnasium", None)
    verdict = judge("[0]")

    assert "tool" == verdict.failed_at
    assert "'.[games]'" in verdict.reason


def test_a_task_imports_no_module_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_by_a_task.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    verdict = judge("[0]", environment="imported_by_a_task:CartPole-v1", kwargs={})
    assert "none of `environments`" in verdict.reason


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name in gymnasium.registry])
def test_every_game_of_the_default_is_played(name: str) -> None:
    if name == "Taxi-v3":
        pytest.skip("this release of Gymnasium has a newer one")
    space = gymnasium.make(name).action_space
    action = [0.0] if isinstance(space, gymnasium.spaces.Box) else 0

    verdict = judge(
        json.dumps([action]), environment=name, kwargs={}, may_stop=True, goal={"least": -100}
    )
    assert Outcome.ACCEPT is verdict.outcome, verdict.reason


def test_settings_are_part_of_the_key() -> None:
    assert GameReplay().settings["environments"]["CartPole-v1"] == ["sutton_barto_reward"]
    assert GameReplay().digest != GameReplay(claims="reject").digest
    with pytest.raises(ConfigError, match="environments"):
        GameReplay(environments={"CartPole-v1": 7})  # type: ignore[dict-item]


def test_the_examples_run(tmp_path: Path) -> None:
    folder = Path(__file__).parents[4] / "examples" / "games"

    result = vl.score_file(
        folder / "games.jsonl", ladder=folder / "games.toml", ledger=tmp_path / "ledger.db"
    )

    assert [1, 0, 0, 1, pytest.approx(0.75), 0] == [reward.value for reward in result.rewards]
