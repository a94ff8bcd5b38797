"""DFT programs of the host: how they are asked and read, and what becomes of their failures.

Programs here are scripts that write what `pw.x` would, but for the last test.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crystals import PROTOTYPES, Solid, made, poscar

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import Registry
from verifier_ladder.tiers.fast.crystal import crystal_of
from verifier_ladder.tiers.fast.crystalgate import as_atoms
from verifier_ladder.tiers.simulation.asedynamics import AseDynamics
from verifier_ladder.tiers.simulation.aseenergy import AseEnergy
from verifier_ladder.tiers.simulation.aseequation import AseEquationOfState
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.tiers.simulation.calculators import method
from verifier_ladder.tiers.simulation.hostprogram import LONGEST
from verifier_ladder.tiers.simulation.planewaves import CODES
from verifier_ladder.verdict import Outcome, Verdict

CORNER = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], float)
QUARTERS = ((0, 0, 0), (0.25, 0.25, 0.25))
SILICON = made("Si Si", CORNER * 2.715, *QUARTERS)
DIAMOND = made("C C", CORNER * 1.7835, *QUARTERS)
RYDBERG = 13.605692
OUTPUT = """
     Program PWSCF v.0 starts
     number of atoms/cell      =            2
     number of atomic types    =            1
     celldm(1)=   7.255773  celldm(2)=   0.000000  celldm(3)=   0.000000
     crystal axes: (cart. coord. in units of alat)
               a(1) = (   0.000000   0.707107   0.707107 )
               a(2) = (   0.707107   0.000000   0.707107 )
               a(3) = (   0.707107   0.707107   0.000000 )
     site n.     atom                  positions (alat units)
         1           Si  tau(   1) = (   0.0000000   0.0000000   0.0000000  )
         2           Si  tau(   2) = (   0.3535534   0.3535534   0.3535534  )
!    total energy              =     -15.00000000 Ry
     convergence has been achieved in   6 iterations
     Forces acting on atoms (cartesian axes, Ry/au):

     atom    1 type  1   force =     0.00100000    0.00000000    0.00000000
     atom    2 type  1   force =    -0.00100000    0.00000000    0.00000000
"""
PSEUDOPOTENTIAL = """GTH-PADE Si
14 4 1 zatom,zion,pspdat
10 1 1 0 2001 0 pspcod,pspxc,lmax,lloc,mmax,r2well
0.44 1 -7.33610297
2
0.42273813 2 5.90692831 -1.26189397
 3.25819622
0.48427842 1 2.72701346
0.0
"""
"""Of silicon, for the local density approximation, as `pw.x` and ABINIT read it."""
Host = Callable[..., None]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Has the host's configuration of ASE name a script, or a command, for a program."""
    folder, output = tmp_path / "pseudopotentials", tmp_path / "output"
    folder.mkdir()
    for file in ("Si.gth", "06-C.UPF", "Ca.UPF"):
        (folder / file).write_text(PSEUDOPOTENTIAL)
    output.write_text(OUTPUT)

    def name(script: str, code: str = "espresso", command: str = "", **more: Any) -> None:
        path, config = tmp_path / "script", tmp_path / "config.ini"
        path.write_text(script.replace("OUTPUT", str(output)).replace("HERE", str(tmp_path)))
        lines = {"command": command or f"/bin/sh {path}", "version": "1", **more}
        lines.setdefault(CODES[code].folder, str(folder))
        told = "".join(f"{key} = {value}\n" for key, value in lines.items())
        config.write_text(f"[{code}]\n{told}")
        monkeypatch.setenv("ASE_CONFIG_PATH", str(config))

    return name


def said(solid: Solid, name: str = "espresso", **settings: Any) -> Verdict:
    verifier = AseEnergy(calculator={"name": name, **settings})
    return verifier.judge([Candidate("crystal", poscar(solid))])[0]


def test_an_energy_and_its_forces_are_those_that_the_program_tells(host: Host) -> None:
    host("cat OUTPUT")

    verdict = said(SILICON)

    assert Outcome.ACCEPT is verdict.outcome, verdict
    assert -7.5 * RYDBERG == pytest.approx(verdict.score, rel=1e-5)
    assert 1e-3 * RYDBERG / 0.529177 == pytest.approx(
        verdict.evidence["largest force, eV/Å"], rel=1e-4
    )


def test_the_input_says_what_the_ladder_says(host: Host, tmp_path: Path) -> None:
    host("cp espresso.pwi HERE/asked; ls >HERE/seen; cat OUTPUT")

    said(SILICON, functional="pbesol", cutoff=500, grid=4, density=2.0, max_iterations=7)

    asked = (tmp_path / "asked").read_text().split()
    told = {key: asked[asked.index(key) + 2] for key in ("ecutwfc", "ecutrho", "input_dft")}
    assert 500 / RYDBERG == pytest.approx(float(told["ecutwfc"]), rel=1e-5)
    assert 2000 / RYDBERG == pytest.approx(float(told["ecutrho"]), rel=1e-5)
    assert "'pbesol'" == told["input_dft"]
    assert "7" == asked[asked.index("electron_maxstep") + 2]
    assert ["5", "5", "5", "0", "0", "0"] == asked[asked.index("automatic") + 1 :][:6]
    assert "Si.gth" in asked
    assert {"Si.gth", "espresso.pwi"} <= set((tmp_path / "seen").read_text().split())


def test_abinit_is_asked_the_same(host: Host, tmp_path: Path) -> None:
    host("cp abinit.in HERE/asked", "abinit")

    said(DIAMOND, "abinit", functional="pbe", cutoff=500, smearing=0.2)

    asked = (tmp_path / "asked").read_text()
    for line in ("ixc 11", "ecut 500.0 eV", "tsmear 0.2 eV", "occopt 7", 'pseudos "06-C.UPF"'):
        assert f"{line}\n" in asked


def test_strained_cells_are_sampled_alike(host: Host, tmp_path: Path) -> None:
    host("grep -A 1 automatic espresso.pwi | tail -n 1 >>HERE/grids; cat OUTPUT")
    calculator = {"name": "espresso", "density": 1.0}  # 2.004 points, and less where it is wider.

    AseEquationOfState(calculator=calculator).judge([Candidate("crystal", poscar(SILICON))])

    asked = (tmp_path / "grids").read_text().splitlines()
    assert 9 < len(asked)
    assert {"3 3 3  0 0 0"} == set(asked)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo out of memory; exit 3", "it ended with exit code 3; its last words: out of memory"),
        ("kill -9 $$", "was killed by signal 9"),
        ("exit 0", "left can't be read"),
        ("grep -v '^!' OUTPUT", "left can't be read: KeyError 'energy'"),
        ("grep -v 'atom    2' OUTPUT", "left can't be read"),
        ("grep -v achieved OUTPUT", "does not say 'convergence has been achieved'"),
        ("head -c 100 /dev/urandom", "left can't be read"),
        ("rm -rf ../work", "the output can't be read"),
        (
            "echo '     convergence NOT achieved after   1 iterations: stopping'; exit 2",
            "did not converge: espresso took 100 cycles; neither does a harmless crystal",
        ),
    ],
    ids=[
        "an error", "killed", "nothing", "no energy", "a force less", "no word of convergence",
        "noise", "no folder", "no end",
    ],
)  # fmt: skip
def test_what_leaves_no_energy_has_failed(host: Host, script: str, told: str) -> None:
    host(script)

    verdict = said(SILICON)

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert told in verdict.reason
    assert "cause" not in verdict.evidence  # So that no engine blames the candidate.


def test_what_abinit_says_of_its_field_is_read_where_its_results_are(host: Host) -> None:
    host(
        "echo ' nstep= 9 was not enough SCF cycles to converge;' >abinit.abo; echo on another day",
        "abinit",
    )

    assert "did not converge: abinit took 100 cycles" in said(SILICON, "abinit").reason


@pytest.mark.parametrize("asked", ["set_initial_magnetic_moments", "set_initial_charges"])
def test_a_spin_or_a_charge_is_refused_and_not_passed_over(host: Host, asked: str) -> None:
    host("cat OUTPUT")
    atoms = as_atoms(crystal_of(poscar(SILICON)))
    atoms.calc = method("espresso").calculator()
    getattr(atoms, asked)([1, 0])

    with pytest.raises(ToolError, match="a spin or a charge are not computed; leave it out"):
        atoms.get_potential_energy()


def test_an_odd_number_of_electrons_takes_smearing(host: Host) -> None:
    host("cat OUTPUT")
    aluminium = made("Al", CORNER * 2.025, QUARTERS[0])
    fixed, smeared = said(aluminium, smearing=0), said(aluminium)

    assert fixed.is_answer
    assert "espresso pairs all electrons without smearing, and their number is odd" == fixed.reason
    assert "espresso has no parameters for Al" == smeared.reason


def test_what_does_not_converge_where_silicon_does_is_a_considered_abstention(host: Host) -> None:
    host("grep -q '^C ' espresso.pwi && echo convergence NOT achieved || cat OUTPUT")

    verdict = said(DIAMOND)

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert "a harmless crystal converges" in verdict.reason


def test_slower_mixing_is_tried_and_told(host: Host) -> None:
    host(
        "grep -q 'mixing_beta *= 0.7' espresso.pwi && echo convergence NOT achieved || cat OUTPUT"
    )

    assert ["slow mixing"] == said(SILICON).evidence["fallbacks"]


def test_a_program_that_takes_too_long_is_ended(host: Host) -> None:
    host("sleep 1000 & wait", seconds=0.2)

    assert "took more than 0.2 s; raise `seconds` in the configuration" in said(SILICON).reason


def test_a_program_that_writes_without_end_is_ended(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.tiers.simulation.hostprogram._LOOK", 0.05)
    host("yes", gigabytes=0.001, seconds=300)

    assert "wrote more than 0.001 GB" in said(SILICON).reason


def test_nothing_is_left_behind(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    host("cat OUTPUT >wave.dat; exit 1")

    said(SILICON)

    assert [] == list(place.iterdir())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"version": ""}, "[espresso]: version: String should have at least 1"),
        ({"command": "''"}, "[espresso]: command.0: String should have at least 1"),
        ({"command": "'"}, "[espresso]: command: No closing quotation"),
        ({"command": "/nowhere/pw.x"}, "/nowhere/pw.x can't be started: No such file"),
        ({"pseudo_dir": ""}, "[espresso]: pseudo_dir: List should have at least 1"),
        ({"pseudo_dir": "/nowhere"}, "pseudopotentials can't be read: No such file"),
        ({"seconds": 1e9}, "seconds: Input should be less than"),
        ({"pseudo": "x"}, "[espresso]: pseudo: Extra inputs"),
        ({"seconds": "${"}, "can't be read"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_told(
    host: Host, more: dict[str, Any], told: str
) -> None:
    host("cat OUTPUT", **more)

    verdict = said(SILICON)

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert told in verdict.reason
    assert "cause" not in verdict.evidence


@pytest.mark.parametrize("name", CODES)
def test_without_a_program_it_abstains_and_says_how_to_configure_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASE_CONFIG_PATH", str(tmp_path / "none"))
    verifier = AseEnergy(calculator=name)

    verdict = verifier.judge([Candidate("crystal", poscar(SILICON))])[0]

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert f"section [{name}] of the configuration of ASE" in verdict.reason
    assert "not configured" == verifier.tools[name]


def test_a_new_version_of_the_host_has_keys_of_its_own_and_answers_no_older_campaign(
    host: Host,
) -> None:
    host("cat OUTPUT")
    verifier = AseEnergy(calculator="espresso")
    host("cat OUTPUT", version="2")

    verdict = verifier.judge([Candidate("crystal", poscar(SILICON))])[0]

    assert verifier.digest != AseEnergy(calculator="espresso").digest
    assert "tool" == verdict.failed_at
    assert "the version 2" in verdict.reason
    assert "the campaign's is 1" in verdict.reason


def test_one_file_of_a_folder_is_the_pseudopotential_of_an_element(
    host: Host, tmp_path: Path
) -> None:
    host("cat OUTPUT")
    copper = said(PROTOTYPES["Cu"])
    (tmp_path / "pseudopotentials" / "si_pbe.UPF").touch()
    silicon = said(SILICON)

    assert copper.is_answer
    assert "espresso has no parameters for Cu" == copper.reason
    assert "tool" == silicon.failed_at
    assert "2 files may be the pseudopotential of Si" in silicon.reason


def test_larger_cells_are_declined_and_finer_settings_cost_more() -> None:
    cubic = PROTOTYPES["Si"]
    declined = said(cubic, max_atoms=7)

    def cost(solid: Solid, **settings: Any) -> float:
        verifier = AseEnergy(calculator={"name": "abinit", **settings})
        return verifier.expected_cost(Candidate("crystal", poscar(solid))).seconds

    assert declined.is_answer
    assert "8 atoms are too many for espresso; at most 7" == declined.reason
    assert cost(SILICON, cutoff=400) < cost(SILICON, cutoff=800) < cost(cubic, cutoff=800)
    assert cost(SILICON, density=2) < cost(SILICON, density=5)


def test_no_program_is_given_longer_than_the_engine_waits() -> None:
    """Who hangs may be rejected."""
    assert 2 * LONGEST <= AseEnergy(calculator="espresso").timeout
    assert 2 * LONGEST * 300 < AseRelax(calculator="espresso", steps=300).timeout
    assert 2 * LONGEST * 100 < AseDynamics(calculator="espresso", duration=0.2).timeout


def test_time_on_a_gpu_is_expected_and_charged_where_the_program_takes_one(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "80GiB")
    candidate, verifier = Candidate("crystal", poscar(SILICON)), AseEnergy(calculator="espresso")
    for memory in ("0", "20GiB"):
        host("cat OUTPUT", gpu_memory=memory)
        (verdict,) = AseEnergy(calculator="espresso").judge([candidate])
        told = verdict.cost.gpu_seconds if verdict.cost else 0.0

        assert Outcome.ACCEPT is verdict.outcome, verdict
        assert [memory != "0"] * 2 == [told > 0, verifier.expected_cost(candidate).gpu_seconds > 0]


@pytest.mark.parametrize(
    "more",
    [
        {"command": "id"}, {"pseudo_dir": "/tmp"}, {"version": "9"}, {"_version": "9"},  # noqa: S108
        {"functional": "../pbe"}, {"cutoff": 1e9}, {"density": 0}, {"seconds": 1e9},
    ],
)  # fmt: skip
def test_no_ladder_and_no_row_says_what_is_run(more: Mapping[str, Any]) -> None:
    asked = AseEnergy(calculator={"name": "espresso", "cutoff": 500})
    calculator = {**asked.settings["calculator"], **more}

    def chosen(settings: dict[str, Any]) -> Any:
        registry = Registry()
        registry.hold([AseEnergy()])
        digest = asked.digest.hex()
        row = Recorded(name=asked.name, version="1", digest=digest, settings=settings)
        return row.among(registry).settings

    assert asked.settings == chosen(asked.settings)
    with pytest.raises(ConfigError, match=next(iter(more))):
        AseEnergy(calculator=calculator)
    with pytest.raises(ConfigError, match="another one here"):
        chosen({**asked.settings, "calculator": calculator})


def test_a_program_sees_no_secret_of_the_process(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "sesame")
    host("env >HERE/seen; cat OUTPUT")

    said(SILICON)

    seen = (tmp_path / "seen").read_text()
    assert "sesame" not in seen
    assert f"PATH={os.environ['PATH']}" in seen


@pytest.mark.parametrize(("code", "program"), [("espresso", "pw.x"), ("abinit", "abinit")])
def test_silicon_has_the_energy_that_both_programs_find(
    code: str, program: str, host: Host
) -> None:
    """With the same pseudopotential, functional, cutoff and k-points."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    host("", code, command=program)

    verdict = said(SILICON, code, functional="lda", cutoff=1000, grid=4, density=0.9, smearing=0)

    assert -106.6545 == pytest.approx(verdict.score, abs=1e-3)
