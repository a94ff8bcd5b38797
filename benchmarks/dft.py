"""How far `dft-properties` is off other programs and nature, and what it costs.

`dft.jsonl` holds energies that other programs found, with their sources; `xtb.csv` measured values
(`xtb.py` says whose).

    python benchmarks/dft.py references       # to other programs, hartree
    python benchmarks/dft.py measured         # the defaults' deviation; takes hours
    python benchmarks/dft.py measured --most 60   # of molecules with so many basis functions
    python benchmarks/dft.py cost             # seconds predicted and taken, by size
    python benchmarks/dft.py bare             # beside PySCF alone, in one process, in turn
    python benchmarks/dft.py dispersion       # a branched isomer less a chain, by correction
"""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from time import process_time

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.high_fidelity import dispersion as corrections
from verifier_ladder.tiers.high_fidelity.basis import rough_numbers
from verifier_ladder.tiers.high_fidelity.dft import Dft, pyscf, single_threaded
from verifier_ladder.tiers.high_fidelity.dftproperties import DEFAULT, DftProperties
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.conformer import Geometry, conformer
from verifier_ladder.tiers.simulation.xtb import KCAL_PER_HARTREE, Xtb

FOLDER = Path(__file__).parent
SIZES = (
    "O", "CO", "CCO", "CCCO", "CCCCO", "CCCCCO", "C=CC=C", "c1ccccc1", "Cc1ccccc1",
    "Oc1ccccc1", "c1ccc2ccccc2c1", "CC(=O)Nc1ccc(O)cc1", "CCCCCCCC", "NCC(=O)O", "CC#N",
    "FC(F)(F)F", "CS(C)=O", "C1CCCCC1", "O=C1C=CC(=O)C=C1", "CCCCCCCCCCCC",
)  # fmt: skip


def references() -> None:
    """Computed less what another program found."""
    for line in (FOLDER / "dft.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        places = tuple(tuple(place) for place in row["positions"])
        method = Dft(
            Level.read(row["level"]), row["grid_level"], 1e-10, 100, row["fitted"], row["unpaired"]
        )
        found = method.state(Geometry(tuple(row["numbers"]), places, row["charge"]))
        print(
            f"{row['program']:7} {row['level']:18} {row['what']:38} "
            f"{found.energy - row['energy']:+.1e}  {row['source']}"
        )


def measured(most: int, level: str) -> None:
    """Root-mean-square and mean differences from what was measured."""
    with (FOLDER / "xtb.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    method = Level.read(level)
    for quantity in ("dipole", "ionisation_energy", "electron_affinity"):
        verifier = DftProperties(level=level, score=quantity)
        found: dict[str, float] = {}
        for row in rows:
            smiles = row["smiles"]
            if row["quantity"] != quantity or method.rough_functions(rough_numbers(smiles)) > most:
                continue
            verdict = verifier.judge([Candidate("molecule", smiles)])[0]
            if verdict.score is None:
                print(f"  {smiles}: {verdict.reason}", file=sys.stderr)
            else:
                found[smiles] = verdict.score - float(row["value"])
        root = sqrt(fmean(each**2 for each in found.values()))
        worst = max(found, key=lambda smiles: abs(found[smiles]))
        print(
            f"{quantity:18} {level} {len(found):3} molecules: {root:.2f} ± "
            f"{root / sqrt(2 * len(found)):.2f} (declared {verifier.deviation}), mean "
            f"{fmean(found.values()):+.2f}, largest {found[worst]:+.2f} of {worst}",
            flush=True,
        )


def cost(most: int) -> None:
    """Seconds of the processor, and those that were predicted."""
    verifier, ratios = DftProperties(), []
    verifier.judge([Candidate("molecule", "O")])  # What is done once in a process.
    for smiles in SIZES:
        candidate = Candidate("molecule", smiles)
        functions = Level.read(DEFAULT).rough_functions(rough_numbers(smiles))
        if functions > most:
            continue
        began = process_time()
        verifier.judge([candidate])
        took, expected = process_time() - began, verifier.expected_cost(candidate).seconds
        ratios.append(expected / took)
        print(f"{smiles:24} {functions:4} {took:7.2f} s, {expected:7.2f} predicted", flush=True)
    within = sum(0.5 <= ratio <= 2 for ratio in ratios)  # noqa: PLR2004
    print(f"{within} of {len(ratios)} within a factor of 2")


def dispersion(level: str) -> None:
    """What 2,2,3,3-tetramethylbutane lies above n-octane, kcal/mol.

    At 0 K, vibrations included: -2.5, by energies of atomisation (arXiv:0905.3271).
    """
    method, energies = Dft(Level.read(level), 3, 1e-8, 60), dict[str, list[float]]()
    for smiles in ("CC(C)(C)C(C)(C)C", "CCCCCCCC"):
        geometry = Xtb("GFN2-xTB", 250).relaxed(conformer(smiles))
        plain = method.state(geometry).energy
        for name in (corrections.NONE, *corrections.PARAMETERS):
            correction = corrections.Dispersion.of(name, method.level.functional)
            added = correction.between(geometry).energy if correction else 0.0
            energies.setdefault(name, []).append(plain + added)
    for name, (branched, chain) in energies.items():
        print(f"{level} {name:5} {(branched - chain) * KCAL_PER_HARTREE:+.2f}")


def bare() -> None:
    """Processor time of PySCF alone, as a share of the verifier's."""
    gto, rks = pyscf("gto"), pyscf("dft").RKS

    def alone(smiles: str) -> None:
        atoms = conformer(smiles)
        molecule = gto.M(
            atom=list(zip(atoms.numbers, atoms.positions, strict=True)), basis="def2-svp",
            verbose=0, max_memory=1500,
        )  # fmt: skip
        field = rks(molecule, xc="b3lyp").density_fit()
        field.conv_tol = 1e-8
        field.kernel()

    verifier = DftProperties()
    ways: Mapping[str, Callable[[str], object]] = {
        "bare": alone, "verifier": lambda smiles: verifier.judge([Candidate("molecule", smiles)]),
    }  # fmt: skip
    alone("O")
    for smiles in ("O", "CO", "CCO"):
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(7):
            for name, run in ways.items():
                began = process_time()
                run(smiles)
                took[name].append(process_time() - began)
        shares = [one / other for one, other in zip(took["bare"], took["verifier"], strict=True)]
        print(f"{smiles:4} {median(shares):.3f} ({min(shares):.3f} to {max(shares):.3f})")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("what", choices=("references", "measured", "cost", "bare", "dispersion"))
    parser.add_argument("--most", type=int, default=10_000, help="basis functions of a molecule")
    parser.add_argument("--level", default=DEFAULT)
    given = parser.parse_args()
    single_threaded()
    if given.what == "references":
        references()
    elif given.what == "measured":
        measured(given.most, given.level)
    elif given.what == "cost":
        cost(given.most)
    elif given.what == "dispersion":
        dispersion(given.level)
    else:
        bare()


if __name__ == "__main__":
    main()
