"""Gaps, dipoles and redox by xTB: real calculations on small molecules."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moleculetwins import TWINS

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge
from verifier_ladder.testing.conformance import Conformance
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.simulation.xtb import State, Xtb
from verifier_ladder.tiers.simulation.xtbproperties import QUANTITIES, XtbProperties
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier


class TestXtbProperties(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = TWINS
    mutated = ("verifier_ladder.tiers.simulation.xtbproperties",)
    mutants: Mapping[str, Any] = {"count": 30, "equivalent": [
        # Costs and evidence, which tests read.
        "placing + len(fields) * each -> placing - len(fields) * each",
        "len(fields) * each -> len(fields) / each",
        ("_RELAXING if self.settings['relaxed'] else 1 -> _RELAXING if not "
        "self.settings['relaxed'] else 1"),
        ("field_seconds(smiles) * (_RELAXING if self.settings['relaxed'] else 1) -> "
        "field_seconds(smiles) / (_RELAXING if self.settings['relaxed'] else 1)"),
        ("self.settings['method'] if self.settings['relaxed'] else 'MMFF94' -> "
        "self.settings['method'] if not self.settings['relaxed'] else 'MMFF94'"),
        # What is told of uncertainties, which tests read.
        "_MEASURED.items() <= self.settings.items() -> _MEASURED.items() > self.settings.items()",
        ("None if charge else self._uncertainty(values) -> "
        "None if not charge else self._uncertainty(values)"),
        ("score == _AFFINITY and values[score] <= 0 -> "
        "score == _AFFINITY or values[score] <= 0"),
        "score == _AFFINITY -> score != _AFFINITY", "values[score] <= 0 -> values[score] > 0",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> XtbProperties:
        return XtbProperties()

    @pytest.mark.slow  # Some three hundred self-consistent fields.
    def test_it_agrees_with_its_answer_key(self, trial: Conformance) -> None:
        super().test_it_agrees_with_its_answer_key(trial)

    @pytest.mark.slow
    def test_every_reject_has_feedback(self, trial: Conformance) -> None:
        super().test_every_reject_has_feedback(trial)

    @pytest.mark.slow  # Each mutant solves the fields of all of the key.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def judged(smiles: str, **settings: Any) -> Verdict:
    return XtbProperties(**settings).judge([Candidate("molecule", smiles)])[0]


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "fec20e5887f9478612d401408e96a50f90bea55f6b4a1ff5357c73f9e6d294d0"

    assert frozen == AnswerKey.named("xtb-properties").frozen(190)


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_quantity_may_be_the_score(name: str) -> None:
    verdict = judged("c1ccccc1", score=name)

    assert verdict.score == verdict.evidence[name]
    assert QUANTITIES[name].unit == verdict.unit
    assert (name in ("dipole", "ionisation_energy")) is (verdict.uncertainty is not None)


@pytest.mark.parametrize(
    ("settings", "deviation"),
    [
        ({}, None), ({"score": "criteria"}, None), ({"score": "dipole"}, 0.6),
        ({"score": "electron_affinity"}, 0.4), ({"score": "dipole", "method": "IPEA1-xTB"}, None),
        ({"score": "ionisation_energy", "method": "IPEA1-xTB"}, 0.8),
        ({"score": "ionisation_energy", "relaxed": True}, None),
        ({"score": "ionisation_energy", "conformers": 1}, None),
        ({"score": "oxidation_potential"}, None), ({"score": "reduction_potential"}, None),
        ({"score": "oxidation_potential", "solvent": "acetonitrile"}, None),
    ],
)  # fmt: skip
def test_a_deviation_is_declared_of_what_was_measured(
    settings: dict[str, Any], deviation: float | None
) -> None:
    assert deviation == XtbProperties(**settings).deviation


@pytest.mark.parametrize(
    ("smiles", "score", "uncertainty"),
    [
        ("C[NH3+]", "ionisation_energy", None), ("CN", "ionisation_energy", 0.9),
        ("C", "electron_affinity", None), ("O=C1C=CC(=O)C=C1", "electron_affinity", 0.4),
    ],
)  # fmt: skip
def test_no_uncertainty_is_told_of_ions_and_of_electrons_that_are_not_bound(
    smiles: str, score: str, uncertainty: float | None
) -> None:
    assert uncertainty == judged(smiles, score=score).uncertainty


def test_a_potential_is_against_its_electrode() -> None:
    one, other = (
        judged("c1ccccc1", score="oxidation_potential", electrode=volts) for volts in (0.0, 4.28)
    )

    assert one.score is not None
    assert one.score - 4.28 == pytest.approx(other.score)


def test_water_helps_to_charge_a_molecule() -> None:
    gas = judged("c1ccccc1", score="ionisation_energy").score
    water = judged("c1ccccc1", score="oxidation_potential", electrode=0.0).score

    assert gas is not None
    assert water is not None
    assert water < gas - 1


def test_relaxing_an_ion_lowers_what_it_costs_to_make_it() -> None:
    vertical = judged("CO", score="ionisation_energy").score
    adiabatic = judged("CO", score="ionisation_energy", relaxed=True)

    assert vertical is not None
    assert adiabatic.score is not None
    assert adiabatic.score < vertical
    assert "GFN2-xTB//GFN2-xTB" == adiabatic.evidence["method"]


def test_each_field_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[tuple[int, str]] = []
    solve = Xtb.state

    def counting(self: Xtb, geometry: Any, *, added: int = 0, solvent: str = "") -> State:
        solved.append((added, solvent))
        return solve(self, geometry, added=added, solvent=solvent)

    monkeypatch.setattr(Xtb, "state", counting)

    judged("O", criteria={name: {"least": -100} for name in QUANTITIES})

    assert sorted((n, where) for n in (-1, 0, 1) for where in ("", "water")) == sorted(solved)


def test_more_fields_and_relaxed_geometries_cost_more() -> None:
    candidate = Candidate("molecule", "c1ccccc1")
    every = {name: {"least": -100} for name in QUANTITIES}
    costs = [
        XtbProperties(**settings).expected_cost(candidate).seconds
        for settings in ({}, {"criteria": every}, {"criteria": every, "relaxed": True})
    ]

    assert sorted(costs) == costs
    assert len(set(costs)) == 3


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"method": "PM3"}, "write GFN2-xTB"),
        ({"score": "beauty"}, "write criteria, gap"),
        ({"criteria": {"gap": {}}}, "give least"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        XtbProperties(**settings)


@pytest.mark.parametrize(
    ("smiles", "told"),
    [("[CH3]", "unpaired"), ("[CH2]", "unpaired"), ("[F-]", "no orbital"), ("[NH4+]", "charged")],
)
def test_what_a_quantity_is_not_defined_for_is_declined_and_kept(smiles: str, told: str) -> None:
    score = "dipole" if told == "charged" else "gap"

    verdict = judged(smiles, score=score)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.failed_at is None
    assert told in verdict.reason


@pytest.mark.slow  # Some eight hundred self-consistent fields.
def test_it_declares_how_far_it_is_off_published_values() -> None:
    benchmark = Path(__file__).parents[4] / "benchmarks" / "xtb.py"

    done = subprocess.run(
        [sys.executable, benchmark, "--check"], check=False, stdout=subprocess.PIPE, text=True
    )

    assert 8 == done.stdout.count("declared")
    assert 0 == done.returncode, done.stdout


def test_isotopes_change_nothing() -> None:
    assert judged("CO").score == judged("[13CH3]O").score
