"""Energies, relaxations and equations of state of crystals: real calculations with ASE's EMT."""

import os
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from crystals import (
    CENTRES,
    FCC,
    PROTOTYPES,
    WRITERS,
    Solid,
    cell,
    chance,
    copied,
    emt,
    made,
    poscar,
    rattled,
    repeated,
)
from sourceedits import edits_of
from threadpoolctl import threadpool_limits

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import Registry
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import mutations
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.crystal import CrystalCanonicaliser
from verifier_ladder.tiers.fast.crystalfile import read
from verifier_ladder.tiers.simulation import asecrystal, asedynamics, calculators
from verifier_ladder.tiers.simulation.asecrystal import (
    AseVerifier,
    rough_lattice,
    rough_size,
    rough_symbols,
)
from verifier_ladder.tiers.simulation.asedynamics import AseDynamics
from verifier_ladder.tiers.simulation.aseenergy import AseEnergy
from verifier_ladder.tiers.simulation.aseequation import AseEquationOfState
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.tiers.simulation.calculators import (
    Emt,
    Method,
    NotConvergedError,
    SevenNet,
    Tblite,
    method,
)
from verifier_ladder.tiers.simulation.xtb import ATTEMPTS
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

COPPER = PROTOTYPES["Cu"]
CHAIN = made("Cu", cell(1.2, 5, 5), (0, 0, 0))
KINDS: Mapping[str, Any] = {
    kind.name: kind for kind in (AseEnergy, AseRelax, AseEquationOfState, AseDynamics)
}
BRIEF: Mapping[str, Any] = {"equilibration": 0.2, "duration": 0.4, "timestep": 5.0}
"""Picoseconds of a run that a test can wait for."""
MOMENT: Mapping[str, Any] = {"equilibration": 0.1, "duration": 0.1}
"""Of one that has hardly begun."""
FROZEN = {
    "ase-energy": (81, "85e3888b2c6728d8a7bc4c96570ebf87eade9437e37a91bf94442c0a9ab2884f"),
    "ase-relax": (87, "ce496726fdf9a5e5de48c3b7baf66cf69c36c2cc791b7ef75a02ab6ebd962e9e"),
    "ase-equation-of-state": (
        89, "5059fb25bb5521c6f520fb980e328825fc7b15c0f958d1970c0dbabde1255de4",
    ),
    "ase-dynamics": (102, "e0c9cadc8f3292a9ae81f35e28bedb806fd0cab789d75f861ac31f7da856f0c5"),
}  # fmt: skip
SHARED = tuple(
    f"verifier_ladder.tiers.simulation.{name}" for name in ("asecrystal", "calculators")
)


UNSEEN = (
    # Other calculators, a second one, and GPUs, which other tests read.
    *edits_of(SevenNet, calculators._sevennet.__wrapped__, AseVerifier._compared),
    "if not self._method.is_on_gpu: raise -> if not not self._method.is_on_gpu: raise",
    "if not self._method.is_on_gpu: raise -> if not self._method.is_on_gpu: pass",
    (
        "if self._method.is_on_gpu: found['computed on'] = 'a GPU' -> "
        "if not self._method.is_on_gpu: found['computed on'] = 'a GPU'"
    ),
    # Costs, which tests read, and what is loaded.
    *edits_of(AseVerifier.setup, AseVerifier.expected_cost, AseVerifier.expected_seconds),
    *edits_of(rough_lattice, rough_symbols, rough_size, asecrystal._head),
    *edits_of(Method.seconds, Emt.seconds, Emt.step_seconds, Tblite.seconds),
    # EMT repeats no cell, has no fallback, and always says a number.
    (
        "1 / np.linalg.norm(np.linalg.inv(lattice), axis=0) -> "
        "1 * np.linalg.norm(np.linalg.inv(lattice), axis=0)"
    ),
    "width / height -> width * height",
    "'guess' in settings -> 'guess' not in settings",
    "if not attempt: return verdict -> if not not attempt: return verdict",
    (
        "if not np.all(np.isfinite(answer)): raise NotConvergedError('the energy did not "
        "converge: it is n... -> if not np.all(np.isfinite(answer)): pass"
    ),
    # No package offers a calculator.
    (
        "if package is None: raise PluginError(f'the calculator {self.name} belongs to no "
        "package') -> if package is None: pass"
    ),
    "package is None -> package is not None",
)
"""Edits of what the verifiers share that change no verdict of EMT."""
CONVERGED = (
    (
        "if self._method.control: self.control = Candidate('crystal', self._method.control) -> "
        "if not self._method.control: self.control = Candidate('crystal', self._method.control)"
    ),
    "return True -> return False",
    "self.control is None -> self.control is not None",
    "harmless is None -> harmless is not None",
    "return False -> return True",
    (
        "if self._converges(harmless): return Verdict.abstain(f'{error}; a harmless crystal "
        "converges') -> if not self._converges(harmless): return Verdict.abstain(f'{error}; a "
        "harmless crystal converges')"
    ),
)
"""Edits of what is done where something does not converge, which EMT's energies always do."""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a worker: on matrices this small, more threads only wait for each other."""
    with threadpool_limits(1):
        yield


class Guess:
    """A naive checker that gives a number of a crystal."""

    def __init__(self, score: Any) -> None:
        self.score = score

    def judge(self, candidates: Any, /) -> list[Verdict]:
        return [self._one(str(each.content)) for each in candidates]

    def _one(self, text: str) -> Verdict:
        try:
            crystal = read(text, 200)
            return Verdict.accept(self.score(Solid(list(crystal.symbols), *crystal[1:])))
        except Exception:  # noqa: BLE001 - what it stands for does the same
            return Verdict.reject("no")


TWINS: Mapping[str, Judge] = {
    "no gate": Guess(emt),
    "one cell without images": Guess(lambda solid: emt(solid.scaled(1.5))),
    "it is a metal": Twin(lambda text, _: any(name in text for name in FCC)),
}


class Crystals(VerifierTestCase):
    strict = True
    cost_factor = 30.0  # Machines differ, and so does the first neighbour list.
    twins = TWINS

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [Candidate("crystal", poscar(PROTOTYPES[name])) for name in ("Cu", "Cu3Au")]


@pytest.mark.slow
class TestAseEnergy(Crystals):
    mutated = ("verifier_ladder.tiers.simulation.aseenergy", *SHARED)
    mutants: Mapping[str, Any] = {"count": 30, "equivalent": [
        *UNSEEN, *CONVERGED,
        # Evidence, which a test reads.
        "float(atoms.get_volume()) / len(atoms) -> float(atoms.get_volume()) * len(atoms)",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> AseEnergy:
        return AseEnergy()


@pytest.mark.slow
class TestAseRelax(Crystals):
    mutated = (
        "verifier_ladder.tiers.simulation.aserelax", "verifier_ladder.tiers.simulation.hull",
        *SHARED,
    )  # fmt: skip
    mutants: Mapping[str, Any] = {"count": 40, "equivalent": [
        *UNSEEN,
        # Costs, evidence and grammar, which tests read.
        "min(30, self.settings['steps']) + 1 -> min(30, self.settings['steps']) - 1",
        "float(atoms.get_volume()) / len(atoms) -> float(atoms.get_volume()) * len(atoms)",
        "'s' * (steps > 1) -> 's' / (steps > 1)", "steps > 1 -> steps <= 1",
        # EMT has a control, which converges.
        "return False -> return True", "self.control is None -> self.control is not None",
        "harmless is None -> harmless is not None",
        # SciPy solves all programmes of the key.
        ("if found.status not in {_SOLVED, _INFEASIBLE}: raise ToolError(f'the hull of the phases "
        "is not kn... -> if found.status not in {_SOLVED, _INFEASIBLE}: pass"),
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> AseRelax:
        return AseRelax()


@pytest.mark.slow
class TestAseEquationOfState(Crystals):
    mutated = ("verifier_ladder.tiers.simulation.aseequation", *SHARED)
    mutants: Mapping[str, Any] = {"count": 40, "equivalent": [
        *UNSEEN, *CONVERGED,
        # Costs and advice, which tests read.
        "self.settings['points'] + 1 -> self.settings['points'] - 1",
        "least == 0 -> least != 0",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> AseEquationOfState:
        return AseEquationOfState()


@pytest.mark.slow
class TestAseDynamics(Crystals):
    mutated = ("verifier_ladder.tiers.simulation.asedynamics", *SHARED)
    mutants: Mapping[str, Any] = {"count": 40, "equivalent": [*UNSEEN, *CONVERGED]}

    @pytest.fixture
    def verifier(self) -> AseDynamics:
        return AseDynamics(**BRIEF)


@pytest.mark.parametrize(
    "case", [TestAseEnergy, TestAseRelax, TestAseEquationOfState, TestAseDynamics]
)
def test_what_mutants_leave_out_are_edits_of_today(case: type[Crystals]) -> None:
    """Else no mutant is tried, which only a slow test would tell."""
    edits = {each.edit for name in case.mutated for each in mutations(name)}

    assert set() == {*case.mutants["equivalent"]} - edits


@pytest.mark.parametrize("name", FROZEN)
def test_an_answer_key_is_the_one_that_was_frozen(name: str) -> None:
    lines, digest = FROZEN[name]

    assert digest == AnswerKey.named(name).frozen(lines)


class Package:
    """What an entry point belongs to."""

    name, version = "flat-matter", "1.2"


Own = Callable[[Any], str]
"""`own(kind)`: the fixture below."""


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Own:
    """Has an installed package offer a calculator; its name is that of the class, in small."""

    def offer(kind: Any) -> str:
        name = kind.__name__.lower()
        point = EntryPoint(name, f"{__name__}:{kind.__name__}", calculators.GROUP)
        monkeypatch.setattr(EntryPoint, "load", lambda _: kind)
        monkeypatch.setattr(EntryPoint, "dist", Package(), raising=False)
        monkeypatch.setattr(calculators, "_points", lambda: {name: point})
        return str(name)

    return offer


def said(kind: Any, solid: Solid | str, **settings: Any) -> Verdict:
    content = solid if isinstance(solid, str) else poscar(solid)
    verdict: Verdict = kind(**settings).judge([Candidate("crystal", content)])[0]
    return verdict


def number(kind: Any, solid: Solid | str, **settings: Any) -> float:
    verdict = said(kind, solid, **settings)
    assert verdict.score is not None, verdict
    return verdict.score


@pytest.mark.parametrize("name", ["Cu", "Cu3Au", "CuAu"])
def test_an_energy_does_not_depend_on_how_a_crystal_is_described(name: str) -> None:
    draw = chance(name)
    solid = rattled(PROTOTYPES[name], draw, 0.05)
    forms = [CrystalCanonicaliser().canonicalise(write(copied(solid, draw))) for write in WRITERS]
    energies = [number(AseEnergy, WRITERS[n](copied(solid, draw))) for n in range(3)]

    assert [pytest.approx(emt(solid), abs=1e-6)] * 3 == energies
    assert 1 == len(set(forms))
    assert emt(solid) == pytest.approx(number(AseEnergy, forms[0]), abs=2e-6)


def test_copper_comes_to_rest_at_the_lattice_constant_of_its_potential() -> None:
    verdict = said(AseRelax, COPPER)
    relaxed = read(verdict.files["relaxed.vasp"].data.decode(), 200)  # type: ignore[union-attr]

    assert 3.5898 == pytest.approx(relaxed.volume ** (1 / 3), abs=2e-3)
    assert 0.00136 == pytest.approx(verdict.score, abs=5e-5)
    assert -0.007036 == pytest.approx(verdict.scores["energy_at_rest"], abs=5e-5)


def test_a_bulk_modulus_has_the_spread_of_its_equations_as_uncertainty() -> None:
    verdict = said(AseEquationOfState, PROTOTYPES["Ag"])

    assert 100.2 == pytest.approx(verdict.score, rel=0.02)
    assert 0 < (verdict.uncertainty or 0) < 2
    assert "GPa" == verdict.unit


# ---- Dynamics


def test_atoms_swing_as_far_as_their_modes_say() -> None:
    """The harmonic modes of 32 atoms at rest: kT times the trace of the inverse stiffness."""
    verdict = said(AseDynamics, COPPER.scaled(3.5898 / 3.61), temperature=200.0, **BRIEF)

    assert 0.0903 == pytest.approx(verdict.score, rel=0.2)
    assert 200 == pytest.approx(verdict.evidence["temperature, K"], rel=0.2)
    assert 0 < (verdict.uncertainty or 0) < 0.02


def test_a_crystal_that_nothing_holds_is_rejected() -> None:
    a = 3.5898 / 4 ** (1 / 3)
    verdict = said(AseDynamics, made("Cu", cell(a, a, a), (0, 0, 0)), **BRIEF, lindemann=0.07)

    assert Outcome.REJECT is verdict.outcome
    assert "does not hold at 300 K" in verdict.reason
    assert verdict.feedback


def test_what_falls_together_is_rejected_though_the_fall_heats_it() -> None:
    far = made("Cu", cell(5, 5, 5), (0, 0, 0))
    verdict = said(AseDynamics, far, **BRIEF)

    assert Outcome.REJECT is verdict.outcome, verdict
    assert "does not hold at 300 K" in verdict.reason


def test_the_time_limit_is_above_the_longest_run_at_the_shortest_timestep() -> None:
    verifier = AseDynamics(timestep=0.1, duration=10.0)
    cells = made("Cu", cell(2.4, 2.4, 2.4), (0, 0, 0))
    largest = repeated(cells, np.diag([6, 7, 7]))
    longest = verifier.expected_cost(Candidate("crystal", poscar(largest))).seconds

    assert verifier.timeout > 10 * longest


class Tethered:
    """A calculator of one's own: springs hold each atom where it stood first, all at one rate."""

    radians = 0.5
    """A femtosecond, as fast as a bond between carbon and oxygen."""

    def __new__(cls) -> Any:
        from ase import units
        from ase.calculators.calculator import Calculator, all_changes

        class Made(Calculator):
            implemented_properties = ["energy", "forces"]  # noqa: RUF012 - as ASE declares it
            start: Any = None

            def calculate(
                self, atoms: Any = None, properties: Any = (), changes: Any = all_changes
            ) -> None:
                super().calculate(atoms, properties, changes)  # type: ignore[no-untyped-call]
                self.start = atoms.get_positions() if self.start is None else self.start
                springs = atoms.get_masses()[:, None] * (cls.radians / units.fs) ** 2
                moved = atoms.get_positions() - self.start
                energy = float((springs * moved**2).sum()) / 2
                self.results = {"energy": energy, "forces": -springs * moved}

        return Made()  # type: ignore[no-untyped-call]


CARBON_DIOXIDE = Solid(
    ["C"] * 4 + ["O"] * 8, cell(5.624, 5.624, 5.624),
    np.array([
        *CENTRES,
        *(
            (np.array(centre) + 0.1185 * side * np.array(axis)) % 1
            for centre, axis in zip(
                CENTRES, ((1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)), strict=True
            )
            for side in (1, -1)
        ),
    ]),
)  # fmt: skip
"""As it was measured at 150 K."""


@pytest.mark.parametrize(
    ("solid", "outcome"),
    [
        (CARBON_DIOXIDE, Outcome.ABSTAIN),
        (repeated(CARBON_DIOXIDE, np.diag([1, 1, 2])), Outcome.ABSTAIN),
        (PROTOTYPES["SiO2"], Outcome.ACCEPT),
        (PROTOTYPES["CaF2"], Outcome.ACCEPT),
        (made("Ar", cell(3.7, 3.7, 3.7), (0, 0, 0)), Outcome.ACCEPT),
    ],
    ids=["molecules", "more of them", "a network", "ions", "atoms alone"],
)  # fmt: skip
def test_what_swings_as_whole_molecules_is_not_judged(
    solid: Solid, outcome: Outcome, own: Own
) -> None:
    verdict = said(AseDynamics, solid, calculator=own(Tethered), **MOMENT, timestep=1.0)

    assert outcome is verdict.outcome, verdict
    assert ("the largest has 3 atoms" in verdict.reason) == (outcome is Outcome.ABSTAIN)
    assert verdict.is_answer


def test_steps_that_no_crystal_withstands_are_held_against_none(own: Own) -> None:
    tethered = own(Tethered)

    verdict, sound = (
        said(AseDynamics, COPPER, calculator=tethered, **MOMENT, timestep=timestep)
        for timestep in (10.0, 1.5)
    )

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "10 fs are too long for its fastest vibration, of 13 fs" in verdict.reason
    assert "give a timestep of 2 fs" in verdict.reason
    assert Outcome.ACCEPT is sound.outcome, sound


def test_a_longer_run_keeps_no_more_places(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asedynamics, "_KEPT", 32 * 10)
    runs = [
        said(AseDynamics, COPPER, calculator=own(Tethered), timestep=1.0, **run)
        for run in (MOMENT, {**MOMENT, "duration": 0.5})
    ]

    assert [True, True] == [8 <= run.evidence["looks"] <= 10 for run in runs]


def test_a_run_alone_is_always_the_same_and_replicates_are_not() -> None:
    once = {"equilibration": 0.1, "duration": 0.1, "timestep": 4.0, "width": 3.0}
    alone = [number(AseDynamics, COPPER, **once) for _ in range(2)]
    verdicts = [said(AseDynamics, COPPER, **once, replicates=2) for _ in range(2)]

    assert alone[0] == alone[1]
    assert verdicts[0].score != verdicts[1].score
    assert verdicts[0].evidence["seed"] != verdicts[1].evidence["seed"]


def test_what_moves_is_the_repeated_cell() -> None:
    """It is what the cost is told of, and what there may be too many atoms of."""
    verifier = AseDynamics(width=7.0, max_atoms=40)
    costs = [
        verifier.expected_cost(Candidate("crystal", poscar(repeated(COPPER, np.diag([n, n, n])))))
        for n in (1, 2)
    ]

    assert costs[0] == costs[1]
    verdict = said(AseDynamics, COPPER, width=7.5, max_atoms=40)
    assert Outcome.ABSTAIN is verdict.outcome
    assert "108 atoms would move in a cell of 7.5 Å; at most 40" in verdict.reason


@pytest.mark.parametrize("content", ["", "a\n1e999\n1 0 0\n0 1 0\n0 0 1\nCu\n1", b"\xff" * 99])
def test_what_is_no_crystal_costs_no_warning_and_a_number(content: str | bytes) -> None:
    assert 0 < AseDynamics().expected_cost(Candidate("crystal", content)).seconds < 100


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("solid", "reason"),
    [
        (CHAIN, "less than 0.65 times"),
        (COPPER.scaled(4), "the volume is"),
        (COPPER._replace(lattice=COPPER.lattice[[1, 0, 2]]), "a negative volume"),
        (COPPER.scaled(0.77), "lies outside"),
    ],
)
def test_what_no_force_field_should_see_is_rejected(kind: Any, solid: Solid, reason: str) -> None:
    verdict = said(kind, solid)

    assert Outcome.REJECT is verdict.outcome
    assert reason in verdict.reason
    assert verdict.feedback


def test_a_crystal_whose_bonds_change_is_another_one() -> None:
    verdict = said(AseRelax, str(AnswerKey.named("ase-relax").cases[37].content))

    assert "it relaxes into another crystal" in verdict.reason


def test_too_few_steps_are_a_considered_abstention() -> None:
    far = rattled(COPPER.scaled(1.02), chance(3), 0.1)
    verdict = said(AseRelax, far, steps=1)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert (
        "did not converge in 1 step; a harmless crystal converges"
        == verdict.reason.removeprefix("the crystal ")
    )


def test_a_control_that_the_settings_refuse_is_held_against_no_candidate() -> None:
    far = rattled(COPPER.scaled(1.02), chance(3), 0.1)  # 0.1 eV an atom; the control has less.

    verdict = said(AseRelax, far, steps=1, window=[0.0, 4.0])

    assert Outcome.ABSTAIN is verdict.outcome
    assert "a harmless crystal converges" in verdict.reason


def test_stability_is_measured_from_the_best_mixture_of_phases() -> None:
    phases = [poscar(PROTOTYPES[name]) for name in ("Cu", "Au")]
    alloy = PROTOTYPES["Cu3Au"]
    verdict = said(AseRelax, alloy, phases=phases)

    assert -0.01019 == pytest.approx(verdict.score, abs=1e-4)
    assert verdict.score == verdict.scores["energy_above_hull"]
    assert number(AseRelax, alloy) == verdict.scores["relaxation_energy"]
    assert 0.0 == pytest.approx(number(AseRelax, COPPER, phases=phases), abs=1e-4)
    assert "no mixture" in said(AseRelax, PROTOTYPES["Ag"], phases=phases).reason


@pytest.mark.parametrize(
    ("phase", "complaint"),
    [
        ("copper", "neither CIF, POSCAR"), (poscar(CHAIN), "less than 0.65"),
        (poscar(PROTOTYPES["NaCl"]), "no parameters for Na"),
        ("/etc/passwd", "neither CIF, POSCAR"), (3, "give a list of texts"),
    ],
)  # fmt: skip
def test_a_phase_that_can_not_compete_is_refused(phase: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        AseRelax(phases=[phase])


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (AseRelax, {"cell": "no"}),
        (AseRelax, {"steps": 2.5}),
        (AseEquationOfState, {"points": 7.5}),
    ],
)
def test_a_setting_of_another_type_is_refused(kind: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        kind(**settings)


class Broken(Emt):
    """A method that converges in nothing."""

    def calculator(self, attempt: str = "") -> Any:
        raise NotConvergedError(f"no end {attempt}")


class Recovers(Emt):
    """A method that only its fallback converges for."""

    attempts = ("", "damped")

    def calculator(self, attempt: str = "") -> Any:
        if not attempt:
            raise NotConvergedError("no end")
        return super().calculator()


class Fails(Emt):
    """A method that converges in a crystal at rest, and not where one has been moved."""

    def calculator(self, attempt: str = "") -> Any:
        from ase.calculators.calculator import CalculationFailed

        made = super().calculator(attempt)
        calculate_once, asked = made.calculate, list[bool]()

        def calculate(*arguments: Any) -> None:
            if asked:
                raise CalculationFailed("the field has no end")
            asked.append(True)
            calculate_once(*arguments)

        made.calculate = calculate
        return made


def test_what_converges_for_nobody_is_a_failure_of_the_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", Broken)

    verdict = said(AseEnergy, COPPER)

    assert "tool" == verdict.failed_at
    assert not verdict.is_answer


def test_a_fallback_answers_for_its_method_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fallbacks" not in said(AseEnergy, COPPER).evidence
    monkeypatch.setitem(calculators.TABLE, "emt", Recovers)

    verdict = said(AseEnergy, COPPER)

    assert emt(COPPER) == pytest.approx(verdict.score, abs=1e-6)
    assert ["damped"] == verdict.evidence["fallbacks"]


def test_what_converges_no_more_on_the_way_to_rest_is_a_considered_abstention(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(calculators.TABLE, "emt", Fails)

    verdict = said(AseRelax, COPPER)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert "the energy did not converge: the field has no end; a harmless" in verdict.reason


def test_fallbacks_of_tight_binding_are_those_of_molecules() -> None:
    pytest.importorskip("tblite")
    tblite = method("tblite")
    made = [tblite.calculator(attempt).parameters for attempt in tblite.attempts]

    assert tuple(ATTEMPTS) == tblite.attempts
    assert [0.4, 0.1, 0.2] == [each.mixer_damping for each in made]
    assert ["sad", "sad", "eeq"] == [each.guess for each in made]


def test_an_answer_that_is_no_number_is_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    from ase.calculators.emt import EMT

    monkeypatch.setattr(EMT, "get_potential_energy", lambda *_, **__: float("nan"))

    assert Outcome.ABSTAIN is said(AseEnergy, COPPER).outcome


class Flat:
    """A calculator of one's own, which gives every atom -1 eV."""

    def __new__(cls) -> Any:
        from ase.calculators.calculator import Calculator, all_changes

        class Made(Calculator):
            implemented_properties = ["energy", "forces"]  # noqa: RUF012 - as ASE declares it

            def calculate(
                self, atoms: Any = None, properties: Any = (), changes: Any = all_changes
            ) -> None:
                super().calculate(atoms, properties, changes)  # type: ignore[no-untyped-call]
                forces = np.zeros((len(atoms), 3))
                self.results = {"energy": -1.0 * len(atoms), "forces": forces}

        return Made()  # type: ignore[no-untyped-call]


def test_a_calculator_of_ones_own_is_found_by_its_entry_point(own: Own) -> None:
    verifier = AseEnergy(calculator=own(Flat))

    assert -1.0 == verifier.judge([Candidate("crystal", poscar(PROTOTYPES["NaCl"]))])[0].score
    assert "1.2" == verifier.tools["flat-matter"]
    with pytest.raises(ConfigError, match="flat"):
        AseEnergy(calculator={"name": "flat", "path": "/tmp/model"})  # noqa: S108


def test_a_row_may_choose_settings_of_the_table_and_nothing_else() -> None:
    asked = AseEnergy(calculator={"name": "tblite", "method": "GFN2-xTB"})

    def selected(**settings: Any) -> Verifier:
        registry = Registry()
        registry.hold([AseEnergy()])
        digest = asked.digest.hex()
        row = Recorded(name=asked.name, version="1", digest=digest, settings=settings)
        return row.among(registry)

    assert asked.settings == selected(**asked.settings).settings
    for bad in ({"name": "flat"}, {"name": "emt", "command": "id"}, "emt", {"name": "/tmp/x"}):  # noqa: S108
        with pytest.raises(ConfigError, match="another one here"):
            selected(**{**asked.settings, "calculator": bad})


def test_narrow_cells_are_repeated_for_a_calculator_of_one_point() -> None:
    pytest.importorskip("tblite")
    ice = "ice\n1.0\n6 0 0\n0 6 0\n0 0 6\nO H\n1 2\nCartesian\n0 0 0\n.76 .59 0\n-.76 .59 0\n"
    narrow = {"name": "tblite", "width": 5.0}
    wide = {"name": "tblite", "width": 11.0}
    energies = [number(AseEnergy, ice, calculator=each) for each in (narrow, wide)]

    assert energies[0] == pytest.approx(energies[1], abs=0.02)
    assert -60 < energies[0] < -45  # GFN1-xTB counts from bare cores; water has -157 eV.


def test_larger_cells_and_more_points_are_expected_to_cost_more() -> None:
    small = Candidate("crystal", CrystalCanonicaliser.control)
    large = Candidate("crystal", poscar(repeated(COPPER, np.diag([3, 3, 3]))))

    def cost(verifier: AseVerifier, candidate: Candidate) -> float:
        return verifier.expected_cost(candidate).seconds

    assert cost(AseEnergy(), small) < cost(AseEnergy(), large)
    assert cost(AseEnergy(), small) < cost(AseEquationOfState(), small)
    assert cost(AseEquationOfState(points=5), small) < cost(AseEquationOfState(points=9), small)
    assert 108 == rough_size(large.content)
    assert [8, 8] == [rough_size(text) for text in ("", b"\xff\n" * 20)]


def test_the_level_is_part_of_what_a_verdict_is_filed_under() -> None:
    one, other = ({"name": "tblite", "method": f"GFN{n}-xTB"} for n in (1, 2))
    digests = {AseEnergy(calculator=each).digest for each in ("emt", "tblite", one, other)}

    assert 3 == len(digests)
    assert {"ase", "tblite"} == AseEnergy(calculator="tblite").tools.keys()


@pytest.mark.parametrize("given", ["", "EMT", "../emt", "ase.calculators.emt", {}, {"name": 4}])
def test_an_unknown_calculator_is_refused_with_those_that_there_are(given: Any) -> None:
    with pytest.raises(ConfigError, match="there is no calculator"):
        method(given)


def test_a_worker_computes_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    AseEnergy().setup()

    assert "1" == os.environ["OMP_NUM_THREADS"]
