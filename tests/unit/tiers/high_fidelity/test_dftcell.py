"""Energies and gaps of small crystals by DFT: real calculations on hydrogen and helium."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from cell_key import HELIUM, HYDROGEN, REFERENCES, diatomic, face_centred
from crystals import Solid, chance, copied, made, poscar, repeated
from sourceedits import edits_of

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import mutation_test, mutations
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.crystalfile import read
from verifier_ladder.tiers.high_fidelity import dftcell
from verifier_ladder.tiers.high_fidelity.basis import SYMBOLS
from verifier_ladder.tiers.high_fidelity.dftcell import (
    CellDft,
    CellState,
    DftCell,
    is_skew,
    seconds_for,
)
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.conformer import DivergedError, UnsolvedError
from verifier_ladder.tiers.simulation.xtb import EV_PER_HARTREE
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

pytest.importorskip("pyscf")
pytest.importorskip("spglib")

QUICK: Mapping[str, Any] = {"level": "lda/gth-dzvp", "cutoff": 20.0, "density": 0.1}
"""Coarse, and at the middle of reciprocal space alone."""

CHEAP = (*range(57, 104), 15, 16, 29, 49, 50, 56)
"""Lines of the key that take seven seconds together, and notice edits of the verifier."""
MODULES = [f"verifier_ladder.tiers.high_fidelity.{name}" for name in ("dftcell", "level")]
UNSEEN = (
    # Costs, time, memory and evidence, which tests read, and what is molecules'.
    *edits_of(
        seconds_for, is_skew, DftCell.expected_cost, vars(CellState)["evidence"].fget, Level.cores
    ),
    (
        "_PATIENCE * seconds_for(max_functions, max_points, 1, is_skew=True) -> "
        "_PATIENCE / seconds_for(max_functions, max_points, 1, is_skew=True)"
    ),
    (
        "max(self.timeout, dearest) * max(1.0, max_cycles / _CYCLES) -> "
        "max(self.timeout, dearest) / max(1.0, max_cycles / _CYCLES)"
    ),
    "max_cycles / _CYCLES -> max_cycles * _CYCLES",
    "3 * 2 ** 30 -> 3 / 2 ** 30",
    "_LIBRARIES + _POINT * max_points -> _LIBRARIES - _POINT * max_points",
    "_POINT * max_points -> _POINT / max_points",
    # Words of a reason.
    "failure or printable(error) -> failure and printable(error)",
    "f' ({failure})' if failure else '' -> f' ({failure})' if not failure else ''",
    (
        "f'there is no {printable(name, 40)}; ' if name else '' -> "
        "f'there is no {printable(name, 40)}; ' if not name else ''"
    ),
    # Nothing alone does not converge that the key could hold.
    "self.settings['unsolved'] == 'abstain' -> self.settings['unsolved'] != 'abstain'",
    (
        "if self.settings['unsolved'] == 'abstain': raise -> "
        "if self.settings['unsolved'] == 'abstain': pass"
    ),
)
"""Edits that change no verdict of the key."""


class TestDftCell(VerifierTestCase):
    strict = True

    @pytest.fixture
    def verifier(self) -> DftCell:
        return DftCell(**QUICK)

    @pytest.fixture
    def answer_key(self, verifier: Verifier) -> AnswerKey | None:
        del verifier  # Its cases take minutes together.
        return None


@pytest.mark.slow  # Some sixty crystals.
class TestTheKey(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "it has hydrogen": Twin(lambda text, _: "H" in text.replace("He", "")),
        "it is of one element": Twin(lambda text, _: len(set(text.split()) & {*SYMBOLS}) == 1),
    }

    @pytest.fixture
    def verifier(self) -> DftCell:
        return DftCell(**QUICK)


def judged(solid: Solid, task: Mapping[str, Any] | None = None, **settings: Any) -> Verdict:
    verifier = DftCell(**{**QUICK, **settings})
    return verifier.judge([Candidate("crystal", poscar(solid), task=task)])[0]


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "842e386f06f2c0058ee5dfa453425f7ffd0726234365cb655180e585a696f7f7"

    assert frozen == AnswerKey.named("dft-cell").frozen(103)


@pytest.mark.slow  # Each mutant computes some twenty crystals.
def test_mutants_of_it_are_noticed_by_the_cases_that_take_least() -> None:
    key = AnswerKey.named("dft-cell")
    cases, lines = zip(*((key.cases[n - 1], key.lines[n - 1]) for n in CHEAP), strict=True)
    few = AnswerKey(key.name, cases, lines)
    survey = mutation_test(few, DftCell, MODULES, settings=QUICK, count=24, equivalent=UNSEEN)

    assert [] == survey.weaknesses, survey.survived


def test_what_mutants_leave_out_are_edits_of_today() -> None:
    """Else no mutant is tried, which only a slow test would tell."""
    assert set() == {*UNSEEN} - {each.edit for name in MODULES for each in mutations(name)}


def test_an_energy_is_that_of_another_program() -> None:
    """CP2K's, of the same functions, pseudopotentials and points; the key has the others."""
    known = next(each for each in REFERENCES if "lda/gth-szv" == each.level)
    verdict = judged(known.solid, **known.settings)

    assert verdict.score == pytest.approx(known.energy, abs=1e-5)


def test_a_copy_has_the_same_energy_and_gap_and_so_has_a_larger_cell_with_points_that_match() -> (
    None
):
    settings: dict[str, Any] = {
        "density": 1.2, "criteria": {"gap": {"least": 0}}, "level": "lda/gth-szv", "cutoff": 60.0,
    }  # fmt: skip
    turned = copied(HYDROGEN, chance("turned"))
    doubled = repeated(HYDROGEN, np.diag([1, 1, 2]))
    one, *others = (judged(each, **settings) for each in (HYDROGEN, turned, doubled))

    points = [each.evidence["points of reciprocal space"] for each in (one, others[1])]
    assert [[2, 2, 2], [2, 2, 1]] == points
    for other in others:
        # Atoms lie elsewhere on a coarse grid.
        assert one.score == pytest.approx(other.score, abs=5e-3)
        assert one.evidence["gap"] == pytest.approx(other.evidence["gap"], abs=5e-3)


@pytest.mark.slow
def test_in_a_large_cell_a_molecule_has_the_energy_that_the_molecular_code_gives() -> None:
    """By integrals in closed form, with the same functions and pseudopotentials."""
    from pyscf import dft, gto

    atoms = [("H", (0, 0, 0)), ("H", (0, 0, 0.74))]
    molecule = gto.M(atom=atoms, basis="gth-dzvp", pseudo="gth-pade", verbose=0)
    field = dft.RKS(molecule, xc="lda_xc_teter93")
    field.grids.level = 5
    alone = field.kernel() * EV_PER_HARTREE / 2

    way = CellDft(Level("lda", "gth-dzvp"), 100.0, 0.01, 1e-8, 50)
    crystals = (read(poscar(diatomic(side, "H", "H", 0.74)), 2) for side in (4.0, 6.0, 8.0))
    found = [way.state(crystal).energy * EV_PER_HARTREE / 2 for crystal in crystals]
    away = [abs(each - alone) for each in found]

    assert sorted(away, reverse=True) == away
    assert 2e-3 > away[-1]


def test_evidence_tells_what_was_computed_and_taken_to_be_so() -> None:
    verdict = judged(HYDROGEN, score="gap")

    assert "eV" == verdict.unit
    assert {
        "level": "lda/gth-dzvp", "cutoff, hartree": 20.0, "charge": 0, "unpaired electrons": 0,
        "points of reciprocal space": [1, 1, 1], "basis functions": 10, "valence electrons": 2,
    }.items() <= verdict.evidence.items()  # fmt: skip


# ---- What is declined


@pytest.mark.parametrize(
    ("solid", "settings", "reason"),
    [
        (made("H", np.eye(3) * 2.0, (0, 0, 0)), {}, "1 valence electrons, and all are paired"),
        (face_centred(3.6, "Cu"), {}, "basis gth-dzvp lacks an element: Cu"),
        (HYDROGEN, {"max_functions": 9}, "10 basis functions are too many; 9 are taken"),
        (HYDROGEN, {"max_points": 1000}, "points; 1e+03 are taken"),
        (HELIUM, {"level": "lda/gth-szv", "score": "gap"}, "no band of the crystal is empty"),
    ],
    ids=["an odd electron", "no basis", "functions", "points", "no empty band"],
)  # fmt: skip
def test_what_can_not_be_computed_is_a_considered_abstention(
    solid: Solid, settings: dict[str, Any], reason: str
) -> None:
    verdict = judged(solid, **settings)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert reason in verdict.reason


def test_atoms_that_are_too_close_are_rejected_before_anything_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CellDft, "state", None)

    verdict = judged(diatomic(4.0, "H", "H", 0.3))

    assert Outcome.REJECT is verdict.outcome
    assert "distance" == verdict.evidence["bound"]


def state(*bands: list[float], electrons: int) -> CellState:
    """A field with these bands, hartree, at each point of reciprocal space."""
    return CellState(
        SimpleNamespace(
            cell=SimpleNamespace(nelectron=electrons), mo_energy=[np.array(each) for each in bands]
        ),
        -1.0, "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bands", "reason"),
    [
        (([-1.0, -0.5, 0.5], [-1.0, 0.0, 0.5], [-1.0, 0.6, 0.7]), "it has no gap"),
        (([-1.0, -0.5, 0.5], [-1.0, -0.6, -0.5]), "it has no gap"),
        (([-1.0, -0.5, -0.4995],), "it has no gap"),
        (([-1.0, 1e30, 1e30],), "too few are left"),
    ],
    ids=["bands that cross", "bands that touch", "equal bands", "functions left out"],
)
def test_where_chance_would_fill_bands_nothing_is_said(
    bands: tuple[list[float], ...], reason: str
) -> None:
    with pytest.raises(UnsolvedError, match=reason):
        _ = state(*bands, electrons=4).gap


def test_a_gap_lies_between_all_filled_and_all_empty_bands() -> None:
    found = state([-1.0, 0.1], [-0.5, 0.5, 1e30], electrons=2).gap

    assert 0.6 * EV_PER_HARTREE == pytest.approx(found)
    assert state([-1.0, 1e30], electrons=2).gap is None


def test_functions_that_depend_on_each_other_are_left_out_and_told() -> None:
    """With all of them nothing converges, and PySCF leaves out what it then asks for again."""
    chain = made("H H", np.diag([0.82, 3.0, 3.3]), (0, 0, 0), (0.5, 0, 0))
    verdict = judged(chain, level="lda/gth-tzv2p")

    assert Outcome.ACCEPT is verdict.outcome, verdict.reason
    assert 0 < verdict.evidence["functions left out"] < verdict.evidence["basis functions"]


# ---- What does not converge


def test_where_nothing_converges_the_tool_has_failed() -> None:
    verdict = judged(HYDROGEN, max_cycles=1)

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "did not converge in 1 cycles; neither did that of helium" in verdict.reason


@pytest.mark.parametrize(
    ("unsolved", "outcome"), [("abstain", Outcome.ABSTAIN), ("reject", Outcome.REJECT)]
)
def test_what_alone_does_not_converge_is_an_answer_as_the_ladder_wants_it(
    monkeypatch: pytest.MonkeyPatch, unsolved: str, outcome: Outcome
) -> None:
    solved = CellDft._solved

    def only_helium(dft: CellDft, crystal: Any, mesh: Any) -> CellState:
        if "H" in crystal.symbols:
            raise DivergedError("it did not converge")
        return solved(dft, crystal, mesh)

    monkeypatch.setattr(CellDft, "_solved", only_helium)
    verdict = judged(HYDROGEN, unsolved=unsolved)

    assert outcome is verdict.outcome
    assert verdict.is_answer
    assert "that of helium does" in verdict.reason


@pytest.mark.parametrize("error", [RuntimeError("singular"), ValueError("infs or NaNs")])
def test_a_fallback_that_helped_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(field: Any) -> Any:
        field.kernel = Mock(side_effect=error)
        return field

    attempts = {"": fails, "level shift": dftcell._ATTEMPTS["level shift"]}
    monkeypatch.setattr(dftcell, "_ATTEMPTS", attempts)

    assert ["level shift"] == judged(HYDROGEN).evidence["fallbacks"]


# ---- Settings, sizes and costs


@pytest.mark.parametrize(
    "settings",
    [
        {"level": "pbe"}, {"level": "b3lyp/gth-dzvp"}, {"level": "pbe/../../etc/passwd"},
        {"cutoff": 1.0}, {"score": "forces"}, {"unsolved": "maybe"}, {"density": 0.0},
        {"criteria": {"dipole": {"least": 0}}},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        DftCell(**settings)


def test_time_and_memory_suffice_for_the_dearest_that_settings_allow() -> None:
    """Who takes more is rejected, so that no crystal may that a setting allows."""
    plain, patient = DftCell(), DftCell(max_cycles=500)
    large = DftCell(max_functions=400, max_points=10**8)

    for verifier, points in ((plain, 5 * 10**6), (large, 10**8)):
        assert 400 * points < verifier.memory  # Bytes for each point of a grid, by PBE.
        functions = verifier.settings["max_functions"]
        assert seconds_for(functions, points, 1, is_skew=True) < verifier.timeout
    assert 10 * plain.timeout == patient.timeout


def test_points_of_a_larger_cell_match_in_spite_of_noise_in_its_vectors() -> None:
    dft = CellDft(Level("lda", "gth-szv"), 100.0, 3 / np.pi, 1e-7, 50)
    noise = np.full((3, 3), 1e-9)

    assert [6, 3, 1] == dft.mesh(np.diag([1.0, 2.0, 6.0]) + noise)


def test_an_expected_cost_grows_with_functions_and_points_and_is_none_of_what_is_declined() -> (
    None
):
    def cost(solid: Solid, **settings: Any) -> float:
        verifier = DftCell(**{**QUICK, **settings})
        return verifier.expected_cost(Candidate("crystal", poscar(solid))).seconds

    few, more = cost(HYDROGEN), cost(repeated(HYDROGEN, np.diag([1, 1, 2])))
    finer, dearer = cost(HYDROGEN, density=1.0), cost(HYDROGEN, cutoff=300.0)

    assert few < min(more, finer, dearer)
    assert 0.01 == cost(face_centred(3.6, "Cu")) == cost(HYDROGEN, max_functions=9)
