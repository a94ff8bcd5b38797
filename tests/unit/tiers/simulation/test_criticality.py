"""Which turns decided an episode, in worlds where that is known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from fakejudge import completion
from gridworlds import CHAIN, MAZE, MOST, Drift, World, known, known_replayed, trajectory
from hypothesis import given
from hypothesis import strategies as st
from services import Service

import verifier_ladder as vl
from verifier_ladder.candidate import Terminate, ToolCall, Turn
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.hidden import without_hidden
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.criticality import (
    Criticality,
    Drawn,
    EndpointPolicy,
    Policy,
    ReplayedCriticality,
    TurnCriticality,
)
from verifier_ladder.verdict import Outcome, Verdict

HESITANT = {"right": 0.55, "left": 0.45}
WANDERING = {"right": 0.4, "down": 0.3, "left": 0.15, "up": 0.15}
WORLDS = {"chain": (CHAIN, HESITANT, 0.0), "maze": (MAZE, WANDERING, 0.02)}
EPISODES = 25


def said(by: TurnCriticality | ReplayedCriticality, turns: Sequence[Turn], **task: Any) -> Verdict:
    return by.judge([vl.Candidate("text", "", task=task, turns=tuple(turns))])[0]


def errors_of(
    made: type[TurnCriticality | ReplayedCriticality], truth: Callable[..., list[float]],
    name: str, times: int,
) -> list[float]:  # fmt: skip
    """How many standard errors each turn of some episodes is off."""
    rows, odds, toll = WORLDS[name]
    world, policy = World(rows, toll), Drift(odds)
    found: list[float] = []
    for seed in range(EPISODES):
        turns = trajectory(world, policy, seed)
        by = made(
            environment=lambda _: World(rows, toll), policy=policy, continuations=times,
            most_turns=MOST, spread=1.0, seed=seed,
        )  # fmt: skip
        verdict = said(by, turns)
        pairs = zip(
            verdict.turns, truth(world, policy, turns), verdict.evidence["errors"], strict=True
        )
        found += [abs((turn.score or 0.0) - right) / error for turn, right, error in pairs]
    return found


@pytest.mark.parametrize("times", [4, 16])
@pytest.mark.parametrize("name", WORLDS)
def test_most_turns_are_within_two_standard_errors(name: str, times: int) -> None:
    off = errors_of(TurnCriticality, known, name, times)

    assert len(off) > 200
    assert sum(each <= 2.0 for each in off) >= 0.95 * len(off)


@pytest.mark.parametrize("name", WORLDS)
def test_so_are_most_with_the_recorded_rest(name: str) -> None:
    off = errors_of(ReplayedCriticality, known_replayed, name, 16)

    assert sum(each <= 2.0 for each in off) >= 0.95 * len(off)


@pytest.mark.parametrize("name", WORLDS)
def test_more_continuations_tell_more(name: str) -> None:
    rows, odds, toll = WORLDS[name]
    world, policy = World(rows, toll), Drift(odds)
    turns = trajectory(world, policy, 1)
    right = known(world, policy, turns)

    def off(times: int) -> float:
        by = TurnCriticality(
            environment=lambda _: World(rows, toll), policy=policy, continuations=times,
            most_turns=MOST,
        )  # fmt: skip
        return sum(
            abs((t.score or 0.0) - r) for t, r in zip(said(by, turns).turns, right, strict=True)
        )

    assert off(256) < off(4)


def test_what_decided_stands_out_and_what_comes_after_the_end_has_none() -> None:
    rows = ("-s.+",)
    world = World(rows)
    did = [Turn("right"), Turn("right"), Turn("right")]
    by = TurnCriticality(
        environment=lambda _: World(rows), policy=Drift({"left": 1.0}), most_turns=9
    )

    verdict = said(by, did)

    assert Outcome.ACCEPT is verdict.outcome
    assert 1.0 == verdict.score
    assert [0.0, 1.0] == [turn.score for turn in verdict.turns]
    assert [0.0, 0.0] == verdict.evidence["values"]
    assert ["right", "right"] == [turn.text for turn in did[: len(verdict.turns)]]
    assert world.rows == rows


def test_all_rounds_have_common_seeds() -> None:
    rows = CHAIN
    by = TurnCriticality(
        environment=lambda _: World(rows), policy=Drift(HESITANT), most_turns=MOST
    )
    wall = [Turn("up"), Turn("up")]  # Nothing moves: continuations differ by their place alone.

    verdict = said(by, wall)

    assert verdict == said(by, wall)
    assert verdict.evidence["errors"][0] < 0.2


def test_it_is_charged_for_the_actions_that_are_drawn() -> None:
    policy = Drift(HESITANT)
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=policy, continuations=3)

    verdict = said(by, [Turn("right"), Turn("left")])

    assert verdict.cost is not None
    assert 0.25 * policy.asked == verdict.cost.money > 0


def test_the_recorded_rest_needs_one_action_a_continuation() -> None:
    policy = Drift(HESITANT)
    by = ReplayedCriticality(environment=lambda _: World(CHAIN), policy=policy, continuations=5)

    verdict = said(by, [Turn("right"), Turn("left"), Turn("up")])

    assert 15 == policy.asked
    assert 3 == len(verdict.turns)


def test_another_observation_than_was_recorded_is_not_known() -> None:
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=Drift(HESITANT))

    verdict = said(by, [Turn("right", "at (0, 4)"), Turn("right", "at (0, 9)")])

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.failed_at is None
    assert "observation of turn 1 differs" in verdict.reason


@pytest.mark.parametrize(
    ("turns", "task", "words"),
    [([], {}, "no turns"), ([Turn("up")], {"seed": -1}, "seed makes no sense")],
)
def test_what_can_not_be_played_is_abstained_from(
    turns: list[Turn], task: dict[str, Any], words: str
) -> None:
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=Drift(HESITANT))

    verdict = said(by, turns, **task)

    assert Outcome.ABSTAIN is verdict.outcome
    assert words in verdict.reason


def test_a_trajectory_without_end_is_rejected_and_told_why() -> None:
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=Drift(HESITANT), most_turns=3)

    verdict = said(by, [Turn("up")] * 4)

    assert Outcome.REJECT is verdict.outcome
    assert "at most 3 times" in verdict.feedback


class Absent(Policy):
    """Is away after some actions."""

    version = "1"
    money = 0.5

    def __init__(self, after: int) -> None:
        self.left = after

    async def draw(self, *_: object) -> Drawn:
        self.left -= 1
        if self.left < 0:
            raise ToolError("the policy is away")
        return Drawn("left", 0.25)


@pytest.mark.parametrize("after", [0, 7])
def test_a_policy_that_is_away_is_no_reward(after: int) -> None:
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=Absent(after))

    verdict = said(by, [Turn("right")])

    assert Outcome.ABSTAIN is verdict.outcome
    assert ("tool", "the policy is away") == (verdict.failed_at, verdict.reason)
    assert vl.Cost(money=0.25 * after) == verdict.cost


class Slow(Policy):
    """Draws one action at once, and no other."""

    version = "1"
    money = 0.5

    def __init__(self) -> None:
        self.asked = 0

    async def draw(self, *_: object) -> Drawn:
        self.asked += 1
        if self.asked > 1:
            await asyncio.sleep(60)
        return Drawn("left")


def test_what_was_drawn_until_the_time_is_up_is_charged() -> None:
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=Slow(), timeout=2.0)

    verdict = said(by, [Turn("right")])

    assert ("tool", "not played to the end in 2 s") == (verdict.failed_at, verdict.reason)
    assert vl.Cost(money=0.5) == verdict.cost


@pytest.mark.parametrize(
    ("made", "turns", "drawn"),
    [
        (ReplayedCriticality, 3, 3 * 4), (TurnCriticality, 3, (3 + 2 + 1 + 1) * 4),
        (TurnCriticality, 5, (5 + 4 + 3 + 2 + 1) * 4), (TurnCriticality, 6, 0),
    ],
)  # fmt: skip
def test_a_cost_is_expected_by_the_actions_to_draw(made: Any, turns: int, drawn: int) -> None:
    by = made(environment=lambda _: World(CHAIN), policy=Absent(0), continuations=4, most_turns=5)

    cost = by.expected_cost(vl.Candidate("text", "", turns=(Turn("up"),) * turns))

    assert pytest.approx(0.5 * drawn) == cost.money


def test_each_trajectory_has_luck_of_its_own() -> None:
    by = TurnCriticality(
        environment=lambda _: World(CHAIN), policy=Drift(HESITANT), most_turns=MOST
    )
    starts = [
        said(by, [Turn("up")] * turns, prompt=prompt).evidence["values"][0]
        for turns in (1, 2) for prompt in ("", "Go right.", "Go home.")
    ]  # fmt: skip

    assert len(set(starts)) > 2


def test_without_a_policy_nothing_is_known() -> None:
    verdict = said(TurnCriticality(), [Turn("right")])

    assert "tool" == verdict.failed_at
    assert "name one in its settings" in verdict.reason


# ---- What an episode is worth


class Late(vl.Environment):
    """Gives a reward at the end alone, if something was done right."""

    version = "1"

    def begin(self, _: int) -> str:
        self.is_right = False
        return "Begin."

    def act(self, action: Any) -> vl.StepResult:
        self.is_right |= action == "right"
        is_end = action == "end"
        return vl.StepResult(
            "Done.", reward=float(self.is_right) if is_end else None, terminated=is_end
        )

    def save(self) -> bytes:
        return b"r" if self.is_right else b""

    def load(self, saved: bytes) -> None:
        self.is_right = bool(saved)


@pytest.mark.parametrize(
    ("odds", "did", "scores"),
    [
        ({"end": 1.0}, ["right"], [1.0]),  # The trajectory itself is cut short.
        ({"left": 1.0}, ["right", "end"], [0.0, 1.0]),  # All continuations are.
    ],
)
def test_an_episode_that_is_cut_short_of_its_reward_has_none(
    odds: dict[str, float], did: list[str], scores: list[float]
) -> None:
    by = TurnCriticality(environment=lambda _: Late(), policy=Drift(odds), most_turns=3)

    verdict = said(by, [*map(Turn, did)])

    assert "" == verdict.reason
    assert scores == [turn.score for turn in verdict.turns]


def test_where_no_episode_is_rewarded_nothing_is_known() -> None:
    policy = Drift({"left": 1.0})
    by = TurnCriticality(environment=lambda _: Late(), policy=policy, most_turns=3)

    verdict = said(by, [Turn("right")])

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "gives no rewards" in verdict.reason
    assert vl.Cost(money=0.25 * policy.asked) == verdict.cost


class Quoting(vl.Verifier):
    """Quotes the answer, and can't work without its setup."""

    name, version, tier, kind, reads_turns = "quoting", "1", "fast", "text", True
    task_fields = hidden = ("answer",)
    secrets, env = ("A_SECRET",), ("A_VARIABLE",)
    is_ready = False

    def setup(self) -> None:
        self.is_ready = True

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[Verdict]:
        return [self.said(each) for each in candidates]

    def said(self, candidate: vl.Candidate) -> Verdict:
        if not self.is_ready:
            return Verdict.abstain("no setup", failed_at="tool")
        if candidate.task and "answer" in candidate.task:
            return Verdict.abstain(f"the answer {candidate.task['answer']} can't be compared")
        return Verdict.reject("wrong", score=0.7)


def test_what_the_outcomes_verifier_hides_is_hidden() -> None:
    by = TurnCriticality(
        environment=lambda _: World(CHAIN), policy=Drift(HESITANT), outcome=Quoting()
    )
    candidate = vl.Candidate("text", "", {"answer": "SECRET-4711"}, (Turn("right"),))
    by.setup()

    verdict = without_hidden(by, candidate, by.judge([candidate])[0])

    assert "SECRET" not in verdict.reason
    assert "the answer [hidden] can't be compared" in verdict.reason
    assert (("A_SECRET",), ("A_VARIABLE",)) == (tuple(by.secrets), tuple(by.env))


def test_the_outcomes_verifier_is_set_up_and_its_reject_is_worth_nothing() -> None:
    by = TurnCriticality(
        environment=lambda _: World(CHAIN), policy=Drift(HESITANT), outcome=Quoting()
    )
    before = said(by, [Turn("right")])
    by.setup()

    verdict = said(by, [Turn("right")])

    assert "no setup" in before.reason
    assert (Outcome.ACCEPT, 0.0) == (verdict.outcome, verdict.score)


def test_a_verifier_of_groups_says_nothing_of_an_episode() -> None:
    class Grouped(Quoting):
        name, scope = "grouped", "group"

    with pytest.raises(ConfigError, match="judge each candidate by itself"):
        TurnCriticality(outcome=Grouped())


@pytest.mark.parametrize("made", [TurnCriticality, ReplayedCriticality])
@pytest.mark.parametrize(("is_parallel", "score"), [(1, 0.0), (0, 1.0)])
def test_the_outcomes_verifier_sees_what_else_the_turns_hold(
    made: Any, is_parallel: int, score: float
) -> None:
    order = {"order": "A7"}
    task = {
        "tools": [{"name": "confirm"}, {"name": "refund"}], "files": {},
        "irreversible": [{"tool": "refund", "after": "confirm", "same": ["order"]}],
    }  # fmt: skip
    turns = (
        Turn(ToolCall("confirm", order)),
        Turn(ToolCall("refund", order), parallel=bool(is_parallel)),
    )
    by = made(environment=lambda _: Late(), policy=Looking(), outcome="tool-calls")

    verdict = said(by, turns, **task)

    assert "" == verdict.reason
    assert score == verdict.score


@pytest.mark.parametrize("task", [{"setup": "NONSENSE"}, {"setup": "", "tools": [{"name": ""}]}])
def test_a_desk_that_can_not_be_set_up_is_not_known(task: dict[str, Any]) -> None:
    checks = {"checks": [{"sql": "SELECT 1", "rows": [[1]]}], "may_change": ["*"]}

    verdict = said(TurnCriticality(policy=Looking()), [Turn(LOOK)], **task, **checks)

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "the task's" in verdict.reason


TASK = {
    "files": {"notes.txt": "milk"}, "may_change": ["notes.txt"],
    "checks": [{"file": "notes.txt", "contains": "bread"}],
}  # fmt: skip
WRITE = ToolCall("write_file", {"path": "notes.txt", "content": "milk, bread"})
LOOK = ToolCall("read_file", {"path": "notes.txt"})


class Looking(Policy):
    """Looks, and changes nothing."""

    async def draw(self, *_: object) -> Drawn:
        return Drawn(LOOK)


@pytest.mark.parametrize("outcome", ["final-state", None])
def test_a_verifier_says_what_an_episode_is_worth(outcome: str | None) -> None:
    from verifier_ladder.tiers.fast.finalstate import FinalState

    by = TurnCriticality(policy=Looking(), outcome=outcome or FinalState(), most_turns=4)

    verdict = said(by, [Turn(LOOK), Turn(WRITE), Turn(LOOK)], **TASK)

    assert [0.0, 1.0, 0.0] == [turn.score for turn in verdict.turns]
    assert 1.0 == verdict.score


class Ending(Policy):
    """Ends with an answer of its own."""

    async def draw(self, *_: object) -> Drawn:
        return Drawn(Terminate("tea"))


@pytest.mark.parametrize(("by", "value"), [(TurnCriticality, 0.0), (ReplayedCriticality, 1.0)])
def test_an_episode_that_is_played_on_has_an_answer_of_its_own(by: Any, value: float) -> None:
    task = {"files": {}, "expects_no_change": True, "answer": "milk"}
    made = by(policy=Ending() if by is TurnCriticality else Looking(), outcome="final-state")

    verdict = made.judge([vl.Candidate("text", "milk", task=task, turns=(Turn(LOOK),))])[0]

    assert 1.0 == verdict.score
    assert value == verdict.evidence["values"][0]


def test_an_environment_without_rewards_needs_a_verifier() -> None:
    verdict = said(TurnCriticality(policy=Looking()), [Turn(LOOK)], **TASK)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "gives no rewards; name a verifier" in verdict.reason


def test_a_task_without_a_state_is_not_known() -> None:
    verdict = said(TurnCriticality(policy=Looking(), outcome="final-state"), [Turn(LOOK)])

    assert Outcome.ABSTAIN is verdict.outcome
    assert "no state" in verdict.reason


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"environment": "nowhere"}, "no environment is called 'nowhere'; there are desk"),
        ({"outcome": "exact-match"}, "can't say what an episode is worth"),
        ({"outcome": "expert-case"}, "can't say what an episode is worth"),
        ({"policy": {"longest": 10}}, "longest"),
        ({"continuations": 1}, "continuations"),
        ({"spread": 0.0}, "above 0"),
        ({"policy": {"modell": "x"}}, "policy: "),
        ({"policy": {"url": "ftp://x"}}, "http"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        TurnCriticality(**settings)


def test_whoever_plays_on_is_a_part_of_the_key() -> None:
    def made(**odds: float) -> bytes:
        return TurnCriticality(environment="desk", policy=Drift(odds)).digest

    assert made(left=1.0) == made(left=1.0) != made(left=2.0)
    assert TurnCriticality(policy=Drift({})).digest != ReplayedCriticality(policy=Drift({})).digest


# ---- A policy at an endpoint


class Player(Service):
    """A chat endpoint that draws moves by the seed that it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.refuses = False
        self.says = ""
        self.talks: list[list[dict[str, str]]] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        message = self.read(handler)
        self.talks.append(message["messages"])
        move = self.says or Drift(HESITANT).drawn(message["seed"])
        told = completion(None, refusal="no") if self.refuses else completion(f" {move}\n")
        told["usage"] = {"prompt_tokens": 1000, "completion_tokens": 10}
        self.send(handler, (200, {}, told))


@pytest.fixture
def player() -> Any:
    with Player() as service:
        yield service


def test_a_model_at_an_endpoint_plays_on_as_any_policy(player: Player) -> None:
    turns = trajectory(World(CHAIN), Drift(HESITANT), 2)[:3]
    settings: dict[str, Any] = {
        "environment": lambda _: World(CHAIN),
        "continuations": 4,
        "most_turns": 12,
        "at_once": 4,
    }
    endpoint = {"model": "agent", "url": player.url, "prices": [1.0, 100.0]}

    verdict = said(TurnCriticality(policy=endpoint, **settings), turns)
    own = said(TurnCriticality(policy=Drift(HESITANT), **settings), turns)

    assert "" == verdict.reason
    assert own.turns == verdict.turns
    assert verdict.cost is not None
    assert pytest.approx(0.002 * len(player.talks)) == verdict.cost.money
    longest = max(player.talks, key=len)
    assert ["system", "user", "assistant", "user"] == [each["role"] for each in longest[:4]]
    assert "at (0, 3)" == longest[1]["content"]
    assert longest[2]["content"] in {"left", "right"}


def test_a_policy_that_refuses_is_no_reward(player: Player) -> None:
    player.refuses = True
    policy = EndpointPolicy(model="agent", url=player.url)
    by = TurnCriticality(environment=lambda _: World(CHAIN), policy=policy, at_once=4)

    verdict = said(by, [Turn("right")])

    assert "tool" == verdict.failed_at
    assert "refuses to act" in verdict.reason


@pytest.mark.parametrize("action", ["right\ud800", "r" * 30_000, "\U0001f9ed" * 30_000])
def test_no_action_keeps_the_policy_from_being_asked(player: Player, action: str) -> None:
    policy = {"model": "agent", "url": player.url, "longest": 4000}
    by = TurnCriticality(
        environment=lambda _: World(CHAIN), policy=policy, continuations=2, most_turns=4
    )

    verdict = said(by, [Turn(action), Turn("right")])

    assert Outcome.ACCEPT is verdict.outcome
    shown = [each["content"] for talk in player.talks for each in talk[2:]]
    assert max(len(each.encode()) for each in shown) < 4000
    assert any(each.endswith(("…]", "\ufffd")) for each in shown)


@pytest.mark.parametrize(
    ("says", "values"),
    [
        (f"<tool_call>{Turn(WRITE).text}</tool_call>", [1.0, 1.0, 1.0]),
        ("It is done.", [0.0, 0.0, 1.0]),
    ],
)  # fmt: skip
def test_a_model_acts_at_a_desk(player: Player, says: str, values: list[float]) -> None:
    player.says = says
    policy = {"model": "agent", "url": player.url}
    by = TurnCriticality(policy=policy, outcome="final-state", continuations=2, most_turns=4)

    verdict = said(by, [Turn(LOOK), Turn(WRITE)], prompt="Add bread.", **TASK)

    assert values == verdict.evidence["values"]
    longest = max(player.talks, key=len)
    assert '{"name": "write_file", "parameters": ["path", "content"]}' in longest[0]["content"]
    assert "ends the episode" in longest[0]["content"]
    assert "Add bread.\n\nnotes.txt" == longest[1]["content"]
    assert f"<tool_call>{Turn(LOOK).text}</tool_call>" in {
        talk[2]["content"] for talk in player.talks if len(talk) > 2
    }


def test_a_model_is_told_of_the_tasks_tools_and_not_how_they_work(player: Player) -> None:
    player.says = "It is done."
    task = {
        "setup": "CREATE TABLE orders (id)", "may_change": ["*"], "sql": True,
        "tools": [{"name": "ship", "sql": "DELETE FROM orders", "parameters": []}],
        "checks": [{"sql": "SELECT 1", "rows": [[1]]}],
    }  # fmt: skip
    by = TurnCriticality(
        policy={"model": "agent", "url": player.url}, outcome="final-state", continuations=2
    )

    verdict = said(by, [Turn(ToolCall("ship"))], **task)

    assert Outcome.ACCEPT is verdict.outcome
    told = player.talks[0][0]["content"]
    assert '[{"name": "ship", "parameters": []}, {"name": "sql", "parameters": ["query"]}]' in told
    assert "DELETE" not in told


def test_a_policys_key_is_lent_and_not_recorded() -> None:
    endpoint = {"model": "agent", "url": "http://127.0.0.1:9", "api_key": "A_KEY"}
    by = TurnCriticality(policy=endpoint)

    assert ("A_KEY",) == tuple(by.secrets)
    assert "A_KEY" not in json.dumps(by.settings)
    assert "127.0.0.1" not in json.dumps(by.settings)


# ---- The contract


def playing(_: Any) -> World:
    return World(CHAIN)


class TestTurnCriticality(VerifierTestCase):
    strict = True

    @pytest.fixture
    def verifier(self) -> TurnCriticality:
        return TurnCriticality(environment=playing, policy=Drift(HESITANT), continuations=4)

    @pytest.fixture
    def candidates(self) -> list[vl.Candidate]:
        turns = trajectory(World(CHAIN), Drift(HESITANT), 1)
        return [vl.Candidate("text", "Done.", turns=turns[:length]) for length in (1, 4)]


# ---- Numbers

outcomes = st.floats(-10, 10)


@given(st.lists(st.tuples(outcomes, outcomes), min_size=2, max_size=40), st.floats(0, 20))
def test_an_interval_holds_its_mean(pairs: list[tuple[float, float]], spread: float) -> None:
    after, before = zip(*pairs, strict=True)

    found = Criticality.of(after, before, spread)

    other = Criticality.of(before, after, spread)
    assert pytest.approx(-found.mean, abs=1e-9) == other.mean
    assert (spread == 0.0) == (found.error is None) == (found.interval is None)
    if found.interval is not None:
        assert found.interval[0] <= found.mean <= found.interval[1]
        assert pytest.approx(found.error, abs=1e-9) == other.error


def test_outcomes_that_are_all_alike_prove_no_certainty() -> None:
    rows = ("s.",)
    by = TurnCriticality(environment=lambda _: World(rows), policy=Drift(HESITANT), most_turns=3)

    verdict = said(by, [Turn("right")])

    assert [0.0] == [turn.score for turn in verdict.turns]
    assert [None] == verdict.evidence["errors"] == verdict.evidence["intervals"]
