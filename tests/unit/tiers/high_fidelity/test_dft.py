"""Hydration free energies by DFT: real calculations on the smallest molecules."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.high_fidelity.dft import DftHydration, functions, seconds_for
from verifier_ladder.verdict import Outcome, Verdict

Hydration = Callable[..., Verdict]


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessPoolExecutor]:
    """A process on one thread, as the engine's workers are: two would wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(name, "1")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield pool


@pytest.fixture
def hydration(worker: ProcessPoolExecutor) -> Hydration:
    def judge(smiles: str, **settings: Any) -> Verdict:
        verifier, candidate = DftHydration(**settings), Candidate("molecule", smiles)
        return worker.submit(verifier.judge, [candidate]).result(timeout=300)[0]

    return judge


@pytest.mark.parametrize(("smiles", "measured"), [("CO", -5.10), ("C", 2.00), ("N", -4.29)])
def test_a_computed_value_lies_within_the_declared_deviation(
    hydration: Hydration, smiles: str, measured: float
) -> None:
    verdict = hydration(smiles)

    assert Outcome.ACCEPT is verdict.outcome
    assert verdict.score == pytest.approx(measured, abs=DftHydration.deviation)
    assert "m062x/6-31g*/SMD(water)//MMFF94" == verdict.evidence["level"]


def test_a_calculation_gives_the_same_number_again(hydration: Hydration) -> None:
    assert hydration("O").score == hydration("O").score


def test_a_field_that_does_not_converge_is_a_failure_of_the_tool(hydration: Hydration) -> None:
    verdict = hydration("O", max_cycles=1)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "tool" == verdict.failed_at
    assert "did not converge in 1 cycles" in verdict.reason


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C" * 13, "13 atoms besides hydrogen are too many"),
        ("[CH3]", "odd number of electrons"),
        ("CI", "lacks an element"),
    ],
)
def test_what_is_not_treated_is_a_considered_abstention(
    hydration: Hydration, smiles: str, reason: str
) -> None:
    verdict = hydration(smiles)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert reason in verdict.reason


@pytest.mark.parametrize("level", ["", "m062x", "/6-31g*", "m062x/", "a/" + "b" * 10**6])
def test_a_level_that_is_no_functional_and_basis_is_refused(level: str) -> None:
    with pytest.raises(ConfigError, match="functional/basis") as refused:
        DftHydration(level=level)

    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("smiles", "true"), [("O", 18), ("CO", 36), ("CCO", 54), ("c1ccncc1", 94), ("Oc1ccccc1", 110)]
)
def test_the_size_of_the_basis_is_guessed_from_text(smiles: str, true: int) -> None:
    assert functions(smiles) == pytest.approx(true, rel=0.15)


@pytest.mark.parametrize(
    ("smiles", "seconds"),
    # Processor time on one core of an ordinary server.
    [("CO", 1.8), ("CCO", 5.2), ("CC(N)=O", 7.3), ("c1ccncc1", 17.7), ("Oc1ccccc1", 26.9)],
)
def test_reservations_are_rather_too_high(smiles: str, seconds: float) -> None:
    expected = DftHydration().expected_cost(Candidate("molecule", smiles)).seconds

    assert 1.1 < expected / seconds < 2.5


def test_a_molecule_that_is_too_large_reserves_next_to_nothing() -> None:
    large = Candidate("molecule", "C" * 13)

    assert DftHydration().expected_cost(large).seconds < 0.1 < seconds_for(functions("C"))
