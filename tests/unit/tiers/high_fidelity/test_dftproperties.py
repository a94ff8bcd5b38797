"""Gaps, dipoles, ions and solvation by DFT: real calculations on the smallest molecules."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from moleculetwins import TWINS
from sourceedits import edits_of

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.testing.answerkey import AnswerKey, Judge
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.high_fidelity import dft, dftproperties
from verifier_ladder.tiers.high_fidelity.dft import Dft, Solved
from verifier_ladder.tiers.high_fidelity.dftproperties import QUANTITIES, DftProperties
from verifier_ladder.tiers.simulation.conformer import DivergedError, Geometry
from verifier_ladder.tiers.simulation.xtb import WATER, State, Xtb
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

pytest.importorskip("pyscf")


class TestDftProperties(VerifierTestCase):
    strict = True

    @pytest.fixture
    def verifier(self) -> DftProperties:
        return DftProperties(level="hf/3-21g")

    @pytest.fixture
    def answer_key(self, verifier: Verifier) -> AnswerKey | None:
        del verifier  # The key is about the defaults.
        return None


@pytest.mark.slow  # Some hundred molecules, and again for each mutant.
class TestTheDefaults(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = TWINS
    mutated = ("verifier_ladder.tiers.high_fidelity.dftproperties",)
    mutants: Mapping[str, Any] = {"count": 20, "equivalent": [
        # Costs, and what becomes of what does not converge, which other tests read.
        *edits_of(dftproperties.seconds_for, DftProperties.expected_cost),
        "self.settings['unsolved'] == 'abstain' -> self.settings['unsolved'] != 'abstain'",
        (
            "if self.settings['unsolved'] == 'abstain': raise -> "
            "if self.settings['unsolved'] == 'abstain': pass"
        ),
        # GPUs, which other tests stand in for.
        "[_GPU] if self._dft.is_on_gpu else [] -> [_GPU] if not self._dft.is_on_gpu else []",
        (
            "if device not in ('cpu', 'gpu'): raise ConfigError(f'device={printable(device)!r}: "
            "write cpu or g... -> if device not in ('cpu', 'gpu'): pass"
        ),
        (
            "seconds if self._dft.is_on_gpu else 0.0 -> "
            "seconds if not self._dft.is_on_gpu else 0.0"
        ),
        (
            "{'computed on': 'a GPU'} if self._dft.is_on_gpu else {} -> "
            "{'computed on': 'a GPU'} if not self._dft.is_on_gpu else {}"
        ),
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> DftProperties:
        return DftProperties()


def judged(smiles: str, **settings: Any) -> Verdict:
    verifier = DftProperties(**{"level": "hf/3-21g", **settings})
    return verifier.judge([Candidate("molecule", smiles)])[0]


def test_integrals_that_memory_does_not_hold_lie_in_a_folder_that_goes_with_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a run, as programs have: where the worker is killed, the next run removes it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(dft, "MEGABYTES", 1)
    seen, unfitted = list[Path](), Dft._unfitted

    def watched(method: Dft, molecule: Any) -> Any:
        field = unfitted(method, molecule)
        field.callback = lambda _: seen.extend(
            path for path in tmp_path.rglob("*") if path.is_file()
        )
        return field

    monkeypatch.setattr(Dft, "_unfitted", watched)
    verdict = judged("O", geometry="MMFF94")

    assert Outcome.ACCEPT is verdict.outcome, verdict
    assert seen
    assert {True} == {path.match("vladder-run-*/tmp/*") for path in seen}
    assert [] == list(tmp_path.iterdir())


def test_a_file_that_somebody_still_holds_is_closed_before_its_folder_goes() -> None:
    pyscf = dft.pyscf("lib")
    with dft.temporary_files():
        held = pyscf.NamedTemporaryFile(dir=pyscf.param.TMPDIR)

    assert held.closed


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "cf441f6d3ee3ef0e56464ca662c1e26475e007b6075d1d7561e71e92fa32b63d"

    assert frozen == AnswerKey.named("dft-properties").frozen(129)


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_quantity_may_be_the_score(name: str) -> None:
    verdict = judged("O", score=name)

    assert verdict.score == verdict.evidence[name]
    assert QUANTITIES[name].unit == verdict.unit
    assert "hf/3-21g//GFN2-xTB" == verdict.evidence["level"]


@pytest.mark.parametrize(
    ("settings", "deviation"),
    [
        ({"score": "dipole"}, 0.3), ({"score": "ionisation_energy"}, 0.33), ({}, None),
        ({"score": "dipole", "level": "pbe/def2-svp"}, None),
        ({"score": "dipole", "geometry": "MMFF94"}, None),
        ({"score": "dipole", "relaxed": True}, None), ({"score": "dipole", "unpaired": 2}, None),
        ({"score": "dipole", "grid_level": 0}, None), ({"score": "dipole", "conformers": 1}, None),
        ({"score": "criteria"}, None), ({"score": "ionisation_energy", "max_functions": 50}, 0.33),
    ],
)  # fmt: skip
def test_a_deviation_is_declared_of_what_was_measured(
    settings: dict[str, Any], deviation: float | None
) -> None:
    assert deviation == DftProperties(**settings).deviation


@pytest.mark.parametrize(("smiles", "uncertainty"), [("O", 0.33), ("[OH]", None), ("[OH-]", None)])
def test_no_uncertainty_is_told_of_radicals_and_ions(
    monkeypatch: pytest.MonkeyPatch, smiles: str, uncertainty: float | None
) -> None:
    monkeypatch.setattr(
        dftproperties, "_MEASURED", {**dftproperties._MEASURED, "level": "hf/3-21g"}
    )

    assert uncertainty == judged(smiles, score="ionisation_energy").uncertainty


def test_evidence_tells_charge_and_spin() -> None:
    cation, water = judged("O", score="ionisation_energy").evidence["fields"]

    assert (1, 1) == (cation["charge"], cation["unpaired electrons"])
    assert (0, 0) == (water["charge"], water["unpaired electrons"])
    assert 0 < cation["spin contamination"] < 0.1


def test_the_smiles_says_how_many_electrons_are_unpaired_unless_the_setting_does() -> None:
    triplet, singlet = (
        judged("[CH2]", unpaired=unpaired, score="energy") for unpaired in (None, 0)
    )

    assert 2 == triplet.evidence["fields"][0]["unpaired electrons"]
    assert triplet.score is not None
    assert singlet.score is not None
    assert triplet.score < singlet.score


def test_the_bonds_of_nitrogen_are_not_those_of_a_force_field() -> None:
    field, tight = (
        judged("N#N", score="energy", geometry=geometry) for geometry in ("MMFF94", "GFN2-xTB")
    )

    assert field.score is not None
    assert tight.score is not None
    assert tight.score < field.score - 0.05


def test_relaxing_lowers_the_energy() -> None:
    before = judged("O", score="energy", relaxed=False)
    after = judged("O", score="energy", relaxed=True)

    assert before.score is not None
    assert after.score is not None
    assert after.score < before.score
    assert "hf/3-21g//hf/3-21g" == after.evidence["level"]


@pytest.mark.parametrize(
    ("smiles", "settings", "told"),
    [
        ("O", {"unpaired": 1}, "can't be unpaired"),
        ("[H+]", {}, "of 0 electrons"),
        ("[NH4+]", {"score": "dipole"}, "charged"),
        ("[H-]", {"level": "hf/sto-3g"}, "no orbital"),
        ("CI", {"level": "hf/6-31g*"}, "lacks an element: I"),
        ("[Og]", {}, "lacks an element: Og"),
        ("C" * 9, {"max_functions": 100}, "121 basis functions are too many; 100"),
        ("[C]#N", {"contamination": 0.001}, "the spin is not pure"),
    ],
)
def test_what_is_not_computed_is_declined_and_kept(
    smiles: str, settings: dict[str, Any], told: str
) -> None:
    verdict = judged(smiles, **settings)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert told in verdict.reason


@pytest.mark.parametrize(
    ("smiles", "level", "told"),
    [
        ("C" * 190, "b3lyp/def2-svp", "too many"), ("[La]" * 10, "b3lyp/def2-svp", "320 basis"),
        ("Cl[Ce]", "b3lyp/def2-svp", "lacks an element: Ce"),
        ("[K]F", "b3lyp/cc-pvdz", "lacks an element: K"),
    ],
)  # fmt: skip
def test_nothing_is_computed_of_what_is_too_large_or_has_no_basis(
    monkeypatch: pytest.MonkeyPatch, smiles: str, level: str, told: str
) -> None:
    monkeypatch.setattr(dftproperties, "conformer", None)

    verdict = judged(smiles, level=level)

    assert verdict.is_answer
    assert told in verdict.reason


@pytest.mark.parametrize(
    ("unsolved", "outcome"), [("abstain", Outcome.ABSTAIN), ("reject", Outcome.REJECT)]
)
def test_a_ladder_chooses_what_becomes_of_what_does_not_converge(
    monkeypatch: pytest.MonkeyPatch, unsolved: str, outcome: Outcome
) -> None:
    def diverge(*_: object, **__: object) -> Solved:
        raise DivergedError("it did not converge; that of water does")

    monkeypatch.setattr(Dft, "state", diverge)

    verdict = judged("N", unsolved=unsolved)

    assert outcome is verdict.outcome
    assert verdict.is_answer
    assert "that of water does" in verdict.reason


def test_a_field_that_is_cut_off_leaves_no_file_and_nothing_to_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`tests/integration/test_killed_dft.py` kills an engine there."""
    monkeypatch.setattr("pyscf.lib.parameters.TMPDIR", str(tmp_path))
    made, files = Dft._unfitted, list[Path]()

    def cut(method: Dft, molecule: Any) -> Any:
        def at(cycle: Mapping[str, Any]) -> None:
            if cycle["cycle"] == 2:
                files.extend(tmp_path.iterdir())
                raise KeyboardInterrupt

        field = made(method, molecule)
        field.callback = at
        return field

    expected = judged("O", score="energy")
    with monkeypatch.context() as patch:
        patch.setattr(Dft, "_unfitted", cut)
        with pytest.raises(KeyboardInterrupt):
            judged("O", score="energy")

    again = judged("O", score="energy")
    assert (expected.score, expected.evidence) == (again.score, again.evidence)
    assert [] == files


@pytest.mark.parametrize("geometry", ["GFN2-xTB", "GFN1-xTB"])
@pytest.mark.parametrize(
    ("unsolved", "outcome"), [("abstain", Outcome.ABSTAIN), ("reject", Outcome.REJECT)]
)
def test_so_it_does_of_what_xtb_can_not_place(
    monkeypatch: pytest.MonkeyPatch, geometry: str, unsolved: str, outcome: Outcome
) -> None:
    """A field on the way to the geometry, by xTB, which converges for water alone."""
    solve = Xtb._attempt

    def attempt(self: Xtb, place: Geometry, added: int, solvent: str, name: str) -> State:
        if place is not WATER:
            raise RuntimeError("SCF not converged")
        return solve(self, place, added, solvent, name)

    monkeypatch.setattr(Xtb, "_attempt", attempt)

    verdict = judged("N", geometry=geometry, unsolved=unsolved)

    assert outcome is verdict.outcome
    assert verdict.is_answer
    assert "SCF not converged; it works for water" in verdict.reason


@pytest.mark.parametrize("unsolved", ["abstain", "reject"])
def test_a_tool_that_places_nothing_has_failed(
    monkeypatch: pytest.MonkeyPatch, unsolved: str
) -> None:
    def attempt(*_: object) -> State:
        raise RuntimeError("SCF not converged")

    monkeypatch.setattr(Xtb, "_attempt", attempt)

    verdict = judged("N", unsolved=unsolved)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "tool" == verdict.failed_at


@pytest.mark.parametrize("unsolved", ["abstain", "reject"])
def test_what_xtb_has_no_parameters_for_is_no_matter_of_convergence(unsolved: str) -> None:
    verdict = judged("F[U]F", level="hf/lanl2dz", unsolved=unsolved)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert "parameters" in verdict.reason


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"level": "b3lyp"}, "functional/basis"),
        ({"level": "b3lyp/mine"}, "there is no mine"),
        ({"score": "beauty"}, "write criteria, energy"),
        ({"criteria": {"gap": {}}}, "give least"),
        ({"unsolved": "ignore"}, "write abstain or reject"),
        ({"geometry": "/etc/passwd"}, "write GFN2-xTB"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        DftProperties(**settings)


def test_more_fields_solvents_and_relaxed_geometries_cost_more() -> None:
    candidate = Candidate("molecule", "CCO")
    costs = [
        DftProperties(**settings).expected_cost(candidate).seconds
        for settings in (
            {}, {"score": "solvation_energy"}, {"score": "ionisation_energy"},
            {"score": "ionisation_energy", "relaxed": True},
        )
    ]  # fmt: skip

    assert sorted(costs) == costs
    assert len(set(costs)) == 4


@pytest.mark.parametrize(
    ("smiles", "seconds"),
    # Processor time on one core of an ordinary server; the last three beyond what was fitted.
    [
        ("O", 0.26), ("CO", 1.0), ("CCO", 2.4), ("FC(F)(F)F", 1.5), ("CCCO", 4.6),
        ("c1ccccc1", 4.4), ("Oc1ccccc1", 8.5), ("c1ccc2ccccc2c1", 14.2), ("CCCCCCCC", 21.7),
    ],
)  # fmt: skip
def test_what_is_reserved_is_within_a_factor_of_two(smiles: str, seconds: float) -> None:
    expected = DftProperties().expected_cost(Candidate("molecule", smiles)).seconds

    assert 0.5 < expected / seconds < 2


@pytest.mark.parametrize("smiles", ["C" * 99, "[La]" * 10, "Cl[Ce]"])
def test_a_molecule_that_is_declined_reserves_next_to_nothing(smiles: str) -> None:
    assert DftProperties().expected_cost(Candidate("molecule", smiles)).seconds < 0.1


# ---- On a GPU


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for gpu4pyscf, which needs a GPU: fields say when they go there and come back."""
    went: list[str] = []
    cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 1))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    for name in ("gpu4pyscf", "gpu4pyscf.scf"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())

    def moved(where: str) -> Callable[[Any], Any]:
        def move(field: Any) -> Any:
            went.append(where)
            field.to_cpu = lambda: moved("back")(field)
            return field

        return move

    # PySCF finds gpu4pyscf's classes by their modules, which there are none of here.
    monkeypatch.setattr(import_module("pyscf.scf.hf").RHF, "to_gpu", moved("there"))
    return went


def test_a_gpu_is_asked_for_by_a_setting_that_is_part_of_the_key_and_told(gpu: list[str]) -> None:
    verifier = DftProperties(level="hf/3-21g", geometry="MMFF94", fitted=False, device="gpu")
    verifier.setup()
    water = Candidate("molecule", "O")
    (verdict,) = verifier.judge([water])
    beside = judged("O", geometry="MMFF94", fitted=False)

    assert ["there", "back"] == gpu
    assert beside.score == verdict.score
    assert "a GPU" == verdict.evidence["computed on"]
    assert "computed on" not in beside.evidence
    assert 0 < verifier.expected_cost(water).gpu_seconds
    assert verdict.cost is not None
    assert 0 < verdict.cost.gpu_seconds
    assert verifier.digest != DftProperties(
        level="hf/3-21g", geometry="MMFF94", fitted=False
    ).digest  # fmt: skip


def test_what_fails_on_a_gpu_is_no_molecules_fault(
    gpu: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = DftProperties(level="hf/3-21g", geometry="MMFF94", fitted=False, device="gpu")
    full = Mock(side_effect=MemoryError("out of memory"))
    monkeypatch.setattr(import_module("pyscf.scf.hf").RHF, "kernel", full)

    (verdict,) = verifier.judge([Candidate("molecule", "O")])

    assert ["there"] == gpu
    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "gpu4pyscf failed: out of memory" in verdict.reason


@pytest.mark.parametrize("count", [None, 0], ids=["no library", "no GPU"])
def test_without_a_gpu_the_tool_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, count: int | None
) -> None:
    cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: count))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    for name in ("gpu4pyscf", "gpu4pyscf.scf"):
        monkeypatch.setitem(sys.modules, name, None if count is None else SimpleNamespace())

    with pytest.raises(ToolError, match='say device = "cpu"'):
        DftProperties(device="gpu").setup()
