"""The programs of the demo of cheaters, who judges them, and the policy that picks."""

from collections.abc import Callable

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.demo.cheaters import Bandit, ExitCode, HiddenTests, pool
from verifier_ladder.tiers.sandbox import Sandbox
from verifier_ladder.verdict import Outcome
from verifier_ladder.verifiers import Verifier

LEAP = 4
"""Place of a task whose function takes one argument."""


@pytest.fixture(autouse=True)
def sandbox(require: Callable[..., None]) -> None:
    why = Sandbox().problem()
    require("a sandbox", not why, why)


def accepted(verifier: Verifier, candidates: list[Candidate]) -> list[bool]:
    return [verdict.outcome is Outcome.ACCEPT for verdict in verifier.judge(candidates)]


def test_there_are_24_cheats_and_16_honest_programs() -> None:
    programs = pool()

    assert (24, 16, 16) == (len(programs.cheats), len(programs.honest), len(programs.tasks))
    assert len(set(programs.programs)) == 40


def test_an_exit_code_pays_every_cheat_and_hidden_tests_none() -> None:
    cheats = [pool().candidate(LEAP, place) for place in range(24)]

    assert all(accepted(ExitCode(), cheats))
    assert not any(accepted(HiddenTests(), cheats))


@pytest.mark.parametrize("verifier", [ExitCode(), HiddenTests()])
def test_an_honest_program_passes_its_own_task_and_no_other(verifier: Verifier) -> None:
    own = [pool().candidate(task, 24 + task) for task in range(16)]
    other = [pool().candidate(task, 24 + (task + 1) % 16) for task in range(16)]

    assert all(accepted(verifier, own))
    assert not any(accepted(verifier, other))


def test_what_is_hidden_is_not_in_the_public_test() -> None:
    for task in pool().tasks:
        assert task.calls
        assert not any(call in task.test for call in task.calls)


def test_a_policy_learns_what_is_paid_and_leaves_out_what_is_unknown() -> None:
    policy = Bandit(tasks=2, programs=4, seed=1)
    before = policy.probabilities(0)
    policy.learn(0, [1, 2], [None, None])
    assert list(before) == list(policy.probabilities(0))

    for _ in range(60):
        picks = policy.draw(0, 16)
        policy.learn(0, picks, [float(pick == 2) for pick in picks])

    assert policy.probabilities(0)[2] > 0.9
    assert policy.probabilities(1)[2] > policy.probabilities(1)[1]
