"""SevenNet as a calculator of the table, and what a second calculator of a family is good for.

What needs the networks themselves is slow, for they take ten seconds to load.
"""

import pickle
import sys
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crystals import PROTOTYPES, Solid, chance, copied, poscar, rattled, repeated

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.environment import harmless
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tiers.fast.crystalfile import read
from verifier_ladder.tiers.simulation import calculators
from verifier_ladder.tiers.simulation.asecrystal import AseVerifier
from verifier_ladder.tiers.simulation.asedynamics import AseDynamics
from verifier_ladder.tiers.simulation.aseenergy import AseEnergy
from verifier_ladder.tiers.simulation.aseequation import AseEquationOfState
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.tiers.simulation.calculators import Emt, method
from verifier_ladder.verdict import Outcome, Verdict

COPPER, SILICON = PROTOTYPES["Cu"], PROTOTYPES["Si"]
BOTH = {"name": "sevennet", "second": "7net-l3i5"}


def said(verifier: AseVerifier, solid: Solid) -> Verdict:
    return verifier.judge([Candidate("crystal", poscar(solid))])[0]


# ---- What may be asked for


def test_the_second_network_is_another_one() -> None:
    with pytest.raises(ConfigError, match="second is 7net-0 too: give another, or none"):
        AseEnergy(calculator={"name": "sevennet", "second": "7net-0"})


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sevenn", None)
    calculators._sevennet.cache_clear()

    verdict = said(AseEnergy(calculator="sevennet"), SILICON)

    assert "tool" == verdict.failed_at
    assert "pip install '.[sevennet]'" in verdict.reason


@pytest.mark.parametrize("symbol", ["Po", "Ra", "Am"])
def test_of_elements_that_no_network_has_seen_nothing_is_said(symbol: str) -> None:
    solid = SILICON.scaled(1.6)._replace(symbols=[symbol] * 8)

    verdict = said(AseEnergy(calculator="sevennet"), solid)

    assert Outcome.ABSTAIN is verdict.outcome
    assert f"sevennet has no parameters for {symbol}" == verdict.reason


def test_the_host_chooses_the_device_and_all_devices_answer_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidate, one = Candidate("crystal", poscar(SILICON)), AseEnergy(calculator="sevennet")
    on_processor = one.expected_cost(candidate)
    monkeypatch.setenv("VLADDER_DEVICE", "cuda")
    other = AseEnergy(calculator="sevennet")

    assert one.digest == other.digest
    assert 0 == on_processor.gpu_seconds < other.expected_cost(candidate).gpu_seconds
    assert "cuda" == harmless()["VLADDER_DEVICE"]
    assert 4 == len({
        AseEnergy(calculator={"name": "sevennet", **each}).digest
        for each in ({}, {"model": "7net-l3i5"}, {"second": "7net-l3i5"}, {"model": "7net-0"},
                     {"second": "7net-0_22may2024"})
    })  # fmt: skip


# ---- A second of the family


class Shifted(Emt):
    """A family of calculators whose energies are those of EMT, scaled and shifted."""

    scale: float = 1.0
    shift: float = 0.0
    second: tuple[float, float] | None = None

    @property
    def variant(self) -> "Shifted | None":
        if self.second is None:
            return None
        return Shifted(scale=self.second[0], shift=self.second[1])

    def calculator(self, attempt: str = "") -> Any:
        made = super().calculator(attempt)
        calculate = made.calculate

        def scaled(*arguments: Any) -> None:
            calculate(*arguments)
            atoms = len(made.atoms)
            made.results["energy"] = self.scale * made.results["energy"] + self.shift * atoms
            for name in ("forces", "stress"):
                if name in made.results:
                    made.results[name] = self.scale * made.results[name]

        made.calculate = scaled
        return made


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", Shifted)


def asked(kind: Any, scale: float = 1.0, shift: float = 0.0, **settings: Any) -> Verdict:
    calculator = {"name": "emt", "second": (scale, shift)}
    return said(kind(calculator=calculator, **settings), rattled(COPPER, chance(7), 0.05))


@pytest.mark.usefixtures("family")
def test_how_far_two_of_a_family_lie_apart_is_the_uncertainty() -> None:
    alone = said(AseEnergy(), rattled(COPPER, chance(7), 0.05))

    verdict = asked(AseEnergy, shift=0.02)

    assert alone.score == verdict.score
    assert alone.uncertainty is None
    assert 0.02 / sqrt(2) == pytest.approx(verdict.uncertainty, abs=1e-6)
    assert alone.score + 0.02 == pytest.approx(verdict.evidence["second"]["score"])  # type: ignore[operator]


@pytest.mark.usefixtures("family")
def test_the_second_goes_the_whole_way_by_itself() -> None:
    stiffer = asked(AseRelax, scale=1.5)
    modulus = asked(AseEquationOfState, scale=1.5)
    own = said(AseEquationOfState(), rattled(COPPER, chance(7), 0.05)).uncertainty

    assert stiffer.evidence["second"]["score"] == pytest.approx(
        1.5 * (stiffer.score or 0), rel=0.1
    )
    apart = 0.5 * (modulus.score or 0) / sqrt(2)
    assert hypot(apart, own or 0) == pytest.approx(modulus.uncertainty, rel=0.01)


@pytest.mark.usefixtures("family")
def test_where_the_second_gives_no_score_the_uncertainty_is_not_known() -> None:
    verdict = asked(AseEnergy, shift=100.0)

    assert Outcome.ACCEPT is verdict.outcome
    assert verdict.uncertainty is None
    assert "lies outside" in verdict.evidence["second"]["reason"]


@pytest.mark.usefixtures("family")
def test_a_second_that_fails_has_the_check_tried_again() -> None:
    verifier = AseEnergy(calculator={"name": "emt", "second": (1.0, 0.0)})

    def fails(attempt: str = "") -> Any:
        raise ToolError(f"gone {attempt}")

    object.__setattr__(verifier._second._method, "calculator", fails)  # type: ignore[union-attr]

    assert "tool" == said(verifier, COPPER).failed_at


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize("kind", [AseEnergy, AseRelax, AseEquationOfState, AseDynamics])
def test_two_take_as_long_as_both(kind: Any) -> None:
    candidate = Candidate("crystal", poscar(COPPER))
    alone, both = kind(), kind(calculator={"name": "emt", "second": (1.0, 0.0)})

    expected = alone.expected_cost(candidate).seconds
    assert 2 * expected == pytest.approx(both.expected_cost(candidate).seconds)
    assert 2 * alone.timeout == both.timeout


# ---- On a GPU


class OnGpu(Emt):
    """A calculator that a GPU computes, until its memory is gone."""

    @property
    def is_on_gpu(self) -> bool:
        return True

    def calculator(self, attempt: str = "") -> Any:
        made = super().calculator(attempt)
        calculate = made.calculate

        def computed(atoms: Any, *others: Any) -> None:
            if len(atoms) > 4:
                raise RuntimeError("CUDA out of memory")
            calculate(atoms, *others)

        made.calculate = computed
        return made


def test_a_gpu_is_charged_by_the_time_it_was_kept_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", OnGpu)

    verdict = said(AseEnergy(), COPPER)

    assert verdict.cost is not None
    assert 0 < verdict.cost.gpu_seconds
    assert "a GPU" == verdict.evidence["computed on"]


def test_a_reject_is_charged_the_time_that_it_had_a_gpu_and_none_where_nothing_was_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", OnGpu)

    (unread,) = AseEnergy().judge([Candidate("crystal", "no crystal")])
    outside = said(AseEnergy(window=[5, 6]), COPPER)

    assert (Outcome.REJECT, Outcome.REJECT) == (unread.outcome, outside.outcome)
    assert Cost() == unread.cost
    assert outside.cost is not None
    assert 0 < outside.cost.gpu_seconds


def test_no_candidate_is_blamed_for_what_others_take_of_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", OnGpu)

    verdict = said(AseEnergy(), repeated(COPPER, np.diag([1, 1, 2])))

    assert ("tool", False) == (verdict.failed_at, "cause" in verdict.evidence)
    assert "the GPU failed: CUDA out of memory" == verdict.reason


# ---- The networks themselves


@pytest.fixture
def _networks() -> None:
    pytest.importorskip("sevenn")


@pytest.mark.slow
@pytest.mark.usefixtures("_networks")
class TestNetworks:
    def test_an_energy_does_not_depend_on_how_a_crystal_is_described(self) -> None:
        draw, verifier = chance("Si"), AseEnergy(calculator="sevennet")
        solid = rattled(SILICON, draw, 0.1)
        described = [solid, copied(solid, draw), repeated(solid, np.diag([1, 2, 1]))]
        energies = [said(verifier, each).score for each in described]

        assert [pytest.approx(energies[0], abs=1e-5)] * 3 == energies

    def test_forces_are_what_energies_fall_by(self) -> None:
        from ase import Atoms

        solid = rattled(SILICON, chance(3), 0.1)
        atoms = Atoms(solid.symbols, cell=solid.lattice, scaled_positions=solid.places, pbc=True)
        atoms.calc = method("sevennet").calculator()
        forces, places = atoms.get_forces().copy(), atoms.positions.copy()
        for atom, axis in ((0, 0), (3, 1), (7, 2)):
            energies = []
            for step in (-0.01, 0.01):
                atoms.positions = places
                atoms.positions[atom, axis] += step
                energies.append(atoms.get_potential_energy())
            slope = (energies[1] - energies[0]) / 0.02
            assert forces[atom, axis] == pytest.approx(-slope, abs=3e-3)  # Single precision.

    @pytest.mark.parametrize("network", ["7net-0", "7net-0_22may2024", "7net-l3i5"])
    def test_silicon_is_as_wide_as_measured_to_a_hundredth(self, network: str) -> None:
        """By PBE, which the networks learned from, it is 0.7 % wider."""
        verdict = said(AseRelax(calculator={"name": "sevennet", "model": network}), SILICON)
        relaxed = read(verdict.files["relaxed.vasp"].data.decode(), 200)  # type: ignore[union-attr]
        constant = (8 * relaxed.volume / len(relaxed.symbols)) ** (1 / 3)

        assert 5.431 == pytest.approx(constant, rel=0.01)

    def test_two_networks_give_an_uncertainty(self) -> None:
        verdict = said(AseEnergy(calculator=BOTH), rattled(SILICON, chance(3), 0.1))

        assert 1e-4 < (verdict.uncertainty or 0) < 0.1

    def test_they_know_the_elements_that_they_are_said_to(self) -> None:
        from ase.data import chemical_symbols

        sevennet = method("sevennet")
        known = {number for number in range(1, 97) if sevennet.knows(chemical_symbols[number])}

        assert set(sevennet.calculator().type_map) == known

    def test_the_control_is_at_rest(self) -> None:
        verifier = AseRelax(calculator="sevennet", steps=1)
        assert verifier.control is not None

        assert Outcome.ACCEPT is verifier.judge([verifier.control])[0].outcome

    def test_a_file_with_a_networks_name_is_not_loaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "7net-0").write_bytes(pickle.dumps("not a network"))
        calculators._sevennet.cache_clear()

        assert Outcome.ACCEPT is said(AseEnergy(calculator="sevennet"), SILICON).outcome

    def test_a_device_that_is_not_there_is_a_failure_of_the_tool(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        monkeypatch.setenv("VLADDER_DEVICE", "cuda")
        calculators._sevennet.cache_clear()

        verdict = said(AseEnergy(calculator="sevennet"), SILICON)

        assert "tool" == verdict.failed_at
        assert "unset VLADDER_DEVICE" in verdict.reason
