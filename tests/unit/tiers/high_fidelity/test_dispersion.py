"""Dispersion corrections, beside what the programs of their authors found."""

import sys
from typing import Any

import numpy as np
import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tiers.high_fidelity.dft import Dft, Solved
from verifier_ladder.tiers.high_fidelity.dftproperties import DftProperties
from verifier_ladder.tiers.high_fidelity.dispersion import PARAMETERS, Dispersion
from verifier_ladder.tiers.high_fidelity.level import FUNCTIONALS, Level
from verifier_ladder.tiers.simulation.conformer import Geometry
from verifier_ladder.tiers.simulation.xtb import BOHR_PER_ANGSTROM, WATER
from verifier_ladder.verdict import Outcome, Verdict

pytest.importorskip("dftd3")
pytest.importorskip("dftd4")


ETHENE = (
    (0.0, -0.667578, -2.124659), (0.0, 0.667578, -2.124659), (0.923621, -1.232253, -2.126185),
    (-0.923621, -1.232253, -2.126185), (-0.923621, 1.232253, -2.126185),
    (0.923621, 1.232253, -2.126185),
)  # fmt: skip
ETHYNE = ((0, 0, 2.900503), (0, 0, 1.693240), (0, 0, 0.627352), (0, 0, 3.963929))
MOLECULES = {
    "ethene": Geometry((6, 6, 1, 1, 1, 1), ETHENE, 0),
    "ethyne": Geometry((6, 6, 1, 1), ETHYNE, 0),
    "both": Geometry((6, 6, 1, 1, 1, 1, 6, 6, 1, 1), (*ETHENE, *ETHYNE), 0),
}
"""The pair of S22 in Psi4's tests, Å."""


def correction(name: str, functional: str) -> Dispersion:
    found = Dispersion.of(name, functional)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "functional", "molecule", "energy"),
    # psi4, tests/dftd3/energy/input.dat and tests/dftd4/energy/input.dat: by S. Grimme's program
    # dftd3 and by dftd4, hartree to eight digits.
    [
        ("d3bj", "b3lyp", "both", -0.00784595), ("d3bj", "b3lyp", "ethene", -0.00394347),
        ("d3bj", "b3lyp", "ethyne", -0.00226683), ("d3bj", "pbe", "both", -0.00475937),
        ("d3bj", "pbe", "ethene", -0.00235265), ("d3bj", "pbe", "ethyne", -0.00131239),
        ("d4", "b3lyp", "both", -0.00625445), ("d4", "b3lyp", "ethene", -0.00306407),
        ("d4", "b3lyp", "ethyne", -0.00176150), ("d4", "pbe", "both", -0.00399176),
        ("d4", "pbe", "ethene", -0.00190682), ("d4", "pbe", "ethyne", -0.00108739),
    ],
)  # fmt: skip
def test_a_correction_is_that_of_its_authors_programs(
    name: str, functional: str, molecule: str, energy: float
) -> None:
    found = correction(name, functional).between(MOLECULES[molecule])

    assert energy == pytest.approx(found.energy, abs=1e-8)


def test_its_forces_are_those_of_the_same_programs() -> None:
    """Psi4, tests/dftd4/energy/input.dat: ethene by B3LYP-D4, hartree/bohr."""
    outer = [3.720109e-6, 1.4373039e-5, -5.8791e-8]
    mirrored = [outer, [-outer[0], *outer[1:]], [-outer[0], -outer[1], outer[2]],
                [outer[0], -outer[1], outer[2]]]  # fmt: skip
    expected = [[0, 7.7703214e-5, 1.17582e-7], [0, -7.7703214e-5, 1.17582e-7], *mirrored]

    found = correction("d4", "b3lyp").between(MOLECULES["ethene"])

    assert found.forces == pytest.approx(np.array(expected), abs=1e-8)


def test_the_charge_counts_for_d4() -> None:
    """dftd4 4.3.1, python/dftd4/test_qcschema.py: an anion by TPSS-D4, bohr."""
    places = (
        (4.877023733, -3.909030492, 1.796260143), (6.112318716, -2.778558610, 0.091330457),
        (7.360520527, -4.445334728, -1.932830640), (7.978801077, -6.767751279, -1.031771494),
        (6.374499300, -0.460299457, -0.213142194), (5.637581753, -4.819746139, -3.831249370),
        (9.040657008, -3.585225944, -2.750722946),
    )  # fmt: skip
    unit = BOHR_PER_ANGSTROM
    moved = tuple((x / unit, y / unit, z / unit) for x, y, z in places)
    anion = Geometry((8, 6, 6, 9, 8, 9, 1), moved, -1)

    found = correction("d4", "tpss").between(anion)

    first = [1.47959449e-04, -2.95411758e-05, -2.69548700e-04]
    assert found.forces[0] == pytest.approx(np.array(first), abs=1e-8)


@pytest.mark.parametrize("functional", FUNCTIONALS)
def test_each_correction_has_the_functionals_that_it_was_fitted_to(functional: str) -> None:
    d3, d4 = pytest.importorskip("dftd3.interface"), pytest.importorskip("dftd4.interface")
    dampings = {"d3bj": d3.RationalDampingParam, "d4": d4.DampingParam}
    for name, damping in dampings.items():
        called = PARAMETERS[name].get(functional)
        if called is not None:
            damping(method=called, atm=True)
        elif functional != "wb97x":  # Of which the library has that of another functional.
            with pytest.raises(RuntimeError):
                damping(method=functional, atm=True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"dispersion": "d2"}, "write one of none, d3bj, d4"),
        ({"dispersion": "d3bj", "level": "m062x/def2-svp"}, "was not fitted to m062x, but to hf"),
        ({"dispersion": "d3bj", "level": "wb97x/def2-svp"}, "was not fitted to wb97x"),
        ({"dispersion": "d4", "level": "svwn/def2-svp"}, "was not fitted to svwn"),
    ],
)
def test_what_no_correction_was_fitted_to_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        DftProperties(**settings)


HF = Dft(Level.read("hf/3-21g"), 3, 1e-10, 60, is_fitted=False)


@pytest.mark.parametrize("name", PARAMETERS)
def test_it_is_added_to_the_energy_and_to_its_slope(name: str) -> None:
    pytest.importorskip("pyscf")
    corrected, step = HF._replace(dispersion=Dispersion.of(name, "hf")), 1e-3

    def at(shift: float) -> Solved:
        (x, y, z), *rest = WATER.positions
        return corrected.state(WATER._replace(positions=((x, y, z + shift), *rest)))

    found, plain = at(0.0), HF.state(WATER)
    added = correction(name, "hf").between(WATER)
    slope = (at(step).energy - at(-step).energy) / (2 * step * BOHR_PER_ANGSTROM)
    assert added.energy < -1e-5
    assert found.energy - plain.energy == pytest.approx(added.energy, abs=1e-9)
    assert -slope == pytest.approx(found.forces[0][2], abs=1e-5)
    assert found.dipole == pytest.approx(plain.dipole, abs=1e-5)


def judged(**settings: Any) -> Verdict:
    pytest.importorskip("pyscf")
    verifier = DftProperties(**{"level": "hf/3-21g", "score": "energy", **settings})
    return verifier.judge([Candidate("molecule", "O")])[0]


def test_a_verdict_names_it_and_tells_how_much_it_is() -> None:
    plain, corrected = judged(), judged(dispersion="d3bj")

    assert plain.score is not None
    assert corrected.score is not None
    assert "hf-d3bj/3-21g//GFN2-xTB" == corrected.evidence["level"]
    told = corrected.evidence["fields"][0]["dispersion, hartree"]
    assert corrected.score - plain.score == pytest.approx(told, abs=2e-6)
    assert "dispersion, hartree" not in plain.evidence["fields"][0]


def test_it_is_part_of_the_key_with_the_library_that_computes_it() -> None:
    plain, d3, d4 = (DftProperties(dispersion=name) for name in ("none", "d3bj", "d4"))

    assert 3 == len({each.digest for each in (plain, d3, d4)})
    assert {"dftd3", "dftd4"}.isdisjoint(plain.tools)
    assert {"dftd3"} == d3.tools.keys() - plain.tools.keys()
    assert {"dftd4"} == d4.tools.keys() - plain.tools.keys()


def test_no_deviation_is_told_of_what_was_measured_without() -> None:
    assert DftProperties(score="dipole").deviation is not None
    assert DftProperties(score="dipole", dispersion="d4").deviation is None


def test_a_library_that_is_missing_is_a_failure_of_the_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dftd4.interface", None)

    verdict = judged(dispersion="d4")

    assert Outcome.ABSTAIN is verdict.outcome
    assert "tool" == verdict.failed_at
    assert "pip install '.[dispersion]'" in verdict.reason
    with pytest.raises(ToolError, match="dftd4 can't be imported"):
        DftProperties(dispersion="d4").setup()
