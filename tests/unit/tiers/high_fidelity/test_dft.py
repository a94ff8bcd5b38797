"""Hydration free energies by DFT: real calculations on the smallest molecules."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tiers.high_fidelity import dft
from verifier_ladder.tiers.high_fidelity.basis import (
    BASES,
    CELL_BASES,
    SYMBOLS,
    functions_of,
    rough_numbers,
)
from verifier_ladder.tiers.high_fidelity.dft import (
    ATTEMPTS,
    Dft,
    DftHydration,
    Solved,
    seconds_for,
)
from verifier_ladder.tiers.high_fidelity.level import FUNCTIONALS, Level
from verifier_ladder.tiers.simulation.conformer import DivergedError, Geometry, UnsolvedError
from verifier_ladder.tiers.simulation.xtb import WATER
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
    assert verdict.score == pytest.approx(measured, abs=DftHydration().deviation)
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
        ("[CH3]", "unpaired electrons"),
        ("[CH2]", "unpaired electrons"),
        ("CI", "lacks an element: I"),
    ],
)
def test_what_is_not_treated_is_a_considered_abstention(
    hydration: Hydration, smiles: str, reason: str
) -> None:
    verdict = hydration(smiles)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert reason in verdict.reason


@pytest.mark.parametrize("smiles", ["O.O", "[Na+].[Cl-]", "*C"])
def test_what_is_no_single_molecule_is_rejected(hydration: Hydration, smiles: str) -> None:
    assert Outcome.REJECT is hydration(smiles).outcome


def test_what_the_basis_lacks_is_declined_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dft, "conformer", None)

    (verdict,) = DftHydration().judge([Candidate("molecule", "CI")])

    assert "basis 6-31g* lacks an element: I" == verdict.reason


@pytest.mark.parametrize(
    ("settings", "deviation"),
    [
        ({}, 1.0), ({"level": "pbe/6-31g*"}, None), ({"solvent": "ethanol"}, None),
        ({"grid_level": 3}, None), ({"surface_order": 11}, None), ({"conformers": 1}, None),
        ({"max_heavy_atoms": 6}, 1.0),
    ],
)  # fmt: skip
def test_a_deviation_is_declared_of_what_was_measured(
    settings: dict[str, Any], deviation: float | None
) -> None:
    assert deviation == DftHydration(**settings).deviation


def test_of_an_ion_no_deviation_is_told(hydration: Hydration) -> None:
    verdict = hydration("[OH-]")

    assert verdict.score is not None
    assert verdict.score < -50
    assert verdict.uncertainty is None


@pytest.mark.parametrize("level", ["", "m062x", "/6-31g*", "m062x/", "a/" + "b" * 10**6])
def test_a_level_that_is_no_functional_and_basis_is_refused(level: str) -> None:
    with pytest.raises(ConfigError, match="functional/basis") as refused:
        DftHydration(level=level)

    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "smiles",
    [
        "O", "CO", "CCO", "c1ccncc1", "Oc1ccccc1", "c1cc[nH]c1", "C[N+](=O)[O-]", "C1CC2CCC1C2",
        "C[C@H](N)C(=O)O", "CS(=O)(=O)C", "OP(=O)(O)O", "BrC=CCl", "CC#N", "C[Si](C)(C)C", "[OH-]",
        "CI", "[H][H]", "O=c1cc[nH]cc1", "F[P](F)(F)(F)F", "C[Se]C", "c1cc[se]c1", "C[AsH2]",
        "O=[Ti]=O", "Cl[Fe]Cl", "[Fe+2]", "C[Hg]C", "C[Sn](C)(C)C", "N[Pt](N)(Cl)Cl", "[2H]O[2H]",
        "C%10CC%10", "F/C=C\\F", "CSC(=S)N", "C1=CC2=C(C=C1)C=CC=C2", "[CH2]", "[Cn]",
    ],
)  # fmt: skip
def test_the_size_of_a_basis_is_told_from_text(smiles: str) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    atoms = chem.AddHs(chem.MolFromSmiles(smiles)).GetAtoms()

    assert sorted(atom.GetAtomicNum() for atom in atoms) == sorted(rough_numbers(smiles))


@pytest.mark.parametrize("text", ["", ")))", "(((", "111", "%", "[", "[]", "[H9999999]", "=#$"])
def test_what_is_no_smiles_is_read_to_its_end(text: str) -> None:
    assert len(rough_numbers(text)) < 200


@pytest.mark.filterwarnings("ignore:Basis may be available")
@pytest.mark.parametrize("basis", [*BASES, *CELL_BASES])
def test_the_table_tells_how_many_functions_a_basis_has(basis: str) -> None:
    """Of the elements on both sides of each of its steps, and of all that crystals can have."""
    sets = pytest.importorskip("pyscf.gto.basis")
    lacks = pytest.importorskip("pyscf.lib.exceptions").BasisNotFoundError
    steps = CELL_BASES.get(basis) or BASES[basis]
    last = {number for step in steps for number in (step, step + 1)}
    last |= {*range(1, max(steps))} if basis in CELL_BASES else set()

    for number in sorted(last):
        try:
            shells = sets.load(basis, SYMBOLS[number - 1])
        except lacks:
            shells = []
        has = sum((2 * shell[0] + 1) * (len(shell[-1]) - 1) for shell in shells)
        assert (number, has) == (number, functions_of(basis, number))


@pytest.mark.parametrize(
    ("level", "number"), [("hf/def2-svp", 53), ("hf/lanl2dz", 26), ("hf/6-31g*", 26)]
)
def test_so_many_functions_are_computed_with(level: str, number: int) -> None:
    pytest.importorskip("pyscf")
    method = Dft(Level.read(level), 1, 1e-6, 30)
    even = Geometry((number, number), ((0.0, 0.0, 0.0), (0.0, 0.0, 2.5)), 0)

    assert method.level.functions(even.numbers) == method._molecule(even, 0).nao


def test_a_basis_has_more_functions_for_a_metal_than_for_its_neighbours() -> None:
    level = Level.read("pbe/def2-tzvp")

    iron, bromine = (level.rough_functions(rough_numbers(each)) for each in ("Cl[Fe]Cl", "BrCl"))

    assert (45 + 2 * 37, 48 + 37) == (iron, bromine)


@pytest.mark.parametrize("basis", [*BASES, *CELL_BASES])
def test_a_basis_declines_what_it_lacks(basis: str) -> None:
    with pytest.raises(UnsolvedError, match=f"lacks an element: {SYMBOLS[117]}"):
        Level("hf", basis).functions([1, 118])

    assert 0 == Level("hf", basis).rough_functions(rough_numbers("[Og]"))


def test_every_functional_of_the_table_is_one() -> None:
    libxc = pytest.importorskip("pyscf.dft.libxc")

    for name in FUNCTIONALS:
        assert libxc.parse_xc(name)


@pytest.mark.parametrize(
    ("level", "told"), [("magic/def2-svp", "there is no magic"), ("pbe/mine", "there is no mine")]
)
def test_a_level_of_no_table_is_refused(level: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        DftHydration(level=level)


# ---- One field


BOHR = 0.52917721092
"""Å, as programs have it that are given bohr."""


BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "dft.jsonl"
REFERENCES = [json.loads(line) for line in BENCHMARK.read_text("utf-8").splitlines()]
"""Energies that other programs found, where no grid is needed or theirs and ours are dense."""
H2O = (8, 1, 1)


def test_references_come_from_several_programs_and_are_not_all_closed_shells() -> None:
    assert {"Psi4", "NWChem", "GAMESS"} == {row["program"] for row in REFERENCES}
    assert 3 <= sum(row["unpaired"] > 0 for row in REFERENCES)
    assert 3 <= sum(row["charge"] < 0 for row in REFERENCES)
    assert 2 <= sum("effective core potential" in row["what"] for row in REFERENCES)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row, id=f"{row['program']}, {row['what']}, {row['level']}",
            marks=[] if row["level"].startswith("hf/") else pytest.mark.slow,  # Dense grids.
        )
        for row in REFERENCES
    ],
)  # fmt: skip
def test_an_energy_is_that_of_another_program(row: dict[str, Any]) -> None:
    pytest.importorskip("pyscf")
    method = Dft(
        Level.read(row["level"]), row["grid_level"], 1e-10, 100, row["fitted"], row["unpaired"]
    )
    places = tuple(tuple(place) for place in row["positions"])

    found = method.state(Geometry(tuple(row["numbers"]), places, row["charge"]))

    assert row["energy"] == pytest.approx(found.energy, abs=1e-6)


HF = Dft(Level.read("hf/3-21g"), 3, 1e-10, 60)


@pytest.mark.parametrize("name", ATTEMPTS)
@pytest.mark.parametrize("added", [0, 1])
def test_each_attempt_leads_to_the_same_field(
    monkeypatch: pytest.MonkeyPatch, name: str, added: int
) -> None:
    pytest.importorskip("pyscf")
    plain = HF.state(WATER, added=added)
    monkeypatch.setattr(dft, "ATTEMPTS", {name: ATTEMPTS[name]})

    found = HF.state(WATER, added=added)

    assert name == found.attempt
    assert plain.energy == pytest.approx(found.energy, abs=1e-7)
    assert plain.dipole == pytest.approx(found.dipole, abs=1e-3)
    assert plain.gap == pytest.approx(found.gap, abs=1e-3)


AMMONIA = Geometry(
    (7, 1, 1, 1), ((0, 0, 0.1), (0, 0.94, -0.27), (0.81, -0.47, -0.27), (-0.81, -0.47, -0.27)), 0
)


@pytest.mark.parametrize("unpaired", [0, 1])
def test_a_molecule_is_to_blame_where_water_converges(
    monkeypatch: pytest.MonkeyPatch, unpaired: int
) -> None:
    pytest.importorskip("pyscf")
    solve = Dft._solved

    def stubborn(self: Dft, geometry: Geometry, *others: Any) -> Solved:
        if geometry.numbers != H2O:
            raise dft._NoFieldError("it did not converge")
        return solve(self, geometry, *others)

    monkeypatch.setattr(Dft, "_solved", stubborn)

    with pytest.raises(DivergedError, match="it did not converge; that of water does"):
        HF._replace(unpaired=unpaired).state(AMMONIA._replace(charge=unpaired))


def test_a_field_of_no_numbers_is_one_that_does_not_converge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any other error would be held against the molecule, whatever the ladder wants."""
    pytest.importorskip("pyscf")
    unfitted = Dft._unfitted

    def spoilt(method: Dft, molecule: Any) -> Any:
        field = unfitted(method, molecule)
        if molecule.natm != len(H2O):
            field.get_hcore = lambda *_: np.full((molecule.nao, molecule.nao), np.nan)
        return field

    monkeypatch.setattr(Dft, "_unfitted", spoilt)

    with pytest.raises(DivergedError, match=r"infs or NaNs.*that of water does"):
        HF.state(AMMONIA)


def test_the_tool_is_to_blame_where_water_does_not_converge_either() -> None:
    pytest.importorskip("pyscf")

    with pytest.raises(ToolError, match="in 1 cycles; neither did that of water"):
        HF._replace(max_cycles=1).state(AMMONIA)


def test_a_fallback_helps_where_cycles_run_out() -> None:
    pytest.importorskip("pyscf")

    found = HF._replace(max_cycles=6).state(WATER)

    assert "second order" == found.attempt
    assert HF.state(WATER).energy == pytest.approx(found.energy, abs=1e-6)


@pytest.mark.parametrize(("charge", "unpaired"), [(0, 1), (0, 12), (1, 0), (10, 0), (11, 1)])
def test_a_spin_that_the_electrons_do_not_have_is_declined(charge: int, unpaired: int) -> None:
    pytest.importorskip("pyscf")

    with pytest.raises(UnsolvedError, match="can't be unpaired"):
        HF._replace(unpaired=unpaired).state(WATER._replace(charge=charge))


@pytest.mark.parametrize(
    ("unpaired", "added", "left"), [(0, 0, 0), (0, 1, 1), (0, -1, 1), (2, 0, 2), (2, 1, 1)]
)
def test_an_ion_has_one_electron_more_or_less_unpaired(
    unpaired: int, added: int, left: int
) -> None:
    pytest.importorskip("pyscf")

    found = HF._replace(unpaired=unpaired).state(WATER, added=added)

    assert (left, added) == (found.field.mol.spin, found.field.mol.charge)


def test_an_ion_has_the_spin_of_lower_energy() -> None:
    pytest.importorskip("pyscf")
    hydroxyl = Geometry((8, 1), ((0, 0, 0), (0, 0, 0.98)), 0)

    cation, anion = (HF._replace(unpaired=1).state(hydroxyl, added=added) for added in (1, -1))

    assert (2, 0) == (cation.field.mol.spin, anion.field.mol.spin)


@pytest.mark.parametrize("added", [0, 1, -1])
def test_an_ion_of_a_radical_is_relaxed_in_its_spin(added: int) -> None:
    pytest.importorskip("pyscf")
    pytest.importorskip("ase")
    hydroxyl, radical = Geometry((8, 1), ((0, 0, 0), (0, 0, 1.2)), 0), HF._replace(unpaired=1)

    rested = radical.relaxed(hydroxyl, added=added)

    before, after = (radical.state(each, added=added) for each in (hydroxyl, rested))
    assert after.energy < before.energy
    assert abs(after.forces[1][2]) < 2e-3


def test_the_spin_of_a_radical_is_told() -> None:
    pytest.importorskip("pyscf")
    cyanide = Geometry((6, 7), ((0, 0, 0), (0, 0, 1.17)), 0)

    told = HF._replace(unpaired=1).state(cyanide).evidence

    assert {"charge": 0, "unpaired electrons": 1, "basis functions": 18}.items() <= told.items()
    assert told["spin contamination"] > 0.1


def test_forces_are_the_slope_of_the_energy() -> None:
    pytest.importorskip("pyscf")
    exact = HF._replace(is_fitted=False)
    step = 1e-3

    def at(shift: float) -> Solved:
        (x, y, z), *rest = WATER.positions
        return exact.state(WATER._replace(positions=((x, y, z + shift), *rest)))

    slope = (at(step).energy - at(-step).energy) / (2 * step / BOHR)

    assert -slope == pytest.approx(at(0.0).forces[0][2], abs=1e-5)


def test_no_file_is_read_as_a_basis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyscf")
    (tmp_path / "3-21g").write_text("BASIS")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ToolError, match="no file is read"):
        HF.state(WATER)


def test_no_file_of_settings_is_run(tmp_path: Path) -> None:
    pytest.importorskip("pyscf")
    (tmp_path / ".pyscf_conf.py").write_text("open('bait', 'w')")
    code = "from verifier_ladder.tiers.high_fidelity.dft import single_threaded; single_threaded()"
    home = {**os.environ, "HOME": str(tmp_path)}

    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=home, check=True)

    assert not (tmp_path / "bait").exists()


@pytest.mark.parametrize(
    ("smiles", "seconds"),
    # Processor time on one core of an ordinary server.
    [("CO", 1.8), ("CCO", 5.2), ("CC(N)=O", 7.3), ("c1ccncc1", 17.7), ("Oc1ccccc1", 26.9)],
)
def test_reservations_are_rather_too_high(smiles: str, seconds: float) -> None:
    expected = DftHydration().expected_cost(Candidate("molecule", smiles)).seconds

    assert 1.1 < expected / seconds < 2.5


def test_a_molecule_that_is_declined_reserves_next_to_nothing() -> None:
    small = seconds_for(Level.read("m062x/6-31g*").rough_functions(rough_numbers("C")))
    for smiles in ("C" * 13, "CI"):
        expected = DftHydration().expected_cost(Candidate("molecule", smiles)).seconds
        assert expected < 0.1 < small
