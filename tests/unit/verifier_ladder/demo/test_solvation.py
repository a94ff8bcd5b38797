"""The demo's ladder and outputs."""

from collections import Counter

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.demo.outputs import LADDER, read_outputs
from verifier_ladder.errors import CandidateError
from verifier_ladder.ladder import Ladder
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    return Ladder.from_toml(LADDER)


@pytest.fixture(scope="module")
def molecules(ladder: Ladder) -> Counter[str]:
    """The outputs that pass the gate, by canonical form."""
    [gate] = ladder.rungs[0].gates
    found: Counter[str] = Counter()
    for sample in (sample for step in read_outputs() for sample in step):
        try:
            form = str(ladder.canonicaliser.canonicalise(sample.candidate.content))
        except CandidateError:
            continue
        if gate.judge([Candidate("molecule", form)])[0].outcome is Outcome.ACCEPT:
            found[form] += 1
    return found


def test_the_ladder_has_all_four_tiers(ladder: Ladder) -> None:
    assert tuple(Tier) == ladder.tiers
    assert ladder.rungs[-1].waits


def test_a_reject_earns_less_than_the_worst_molecule(ladder: Ladder) -> None:
    worst = ladder.reward.scale(20.0, sign=ladder.target.sign)

    assert ladder.reward.reject < worst < ladder.reward.scale(-10.0, sign=ladder.target.sign)


def test_there_are_about_sixty_outputs_in_a_few_steps() -> None:
    steps = read_outputs()

    assert 55 <= sum(map(len, steps)) <= 70
    assert 2 < len(steps)


def test_more_than_thirty_molecules_are_good_and_some_are_spelled_twice(
    molecules: Counter[str],
) -> None:
    assert 30 < len(molecules) < sum(molecules.values()) - 7


def test_most_good_molecules_were_measured_and_others_open_cases(
    ladder: Ladder, molecules: Counter[str]
) -> None:
    laboratory = ladder.rungs[-1].verifiers[0]
    verdicts = laboratory.judge([Candidate("molecule", form) for form in molecules])
    measured = sum(verdict.score is not None for verdict in verdicts)

    assert len(molecules) / 2 < measured < len(molecules) - 3


def test_the_budget_pays_for_some_of_the_costly_calculations(
    ladder: Ladder, molecules: Counter[str]
) -> None:
    [dft] = (v for v in ladder.verifiers if v.tier is Tier.HIGH_FIDELITY)
    costs = [dft.expected_cost(Candidate("molecule", form)).seconds for form in molecules]

    cap = ladder.budget[Tier.HIGH_FIDELITY, Resource.CPU_SECONDS]
    assert cap is not None
    assert min(costs) * 5 < cap < sum(costs)
