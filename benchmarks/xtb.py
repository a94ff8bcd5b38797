"""How far the dipoles, ionisation energies and electron affinities of `xtb-properties` are off.

`xtb.csv` holds measured values of molecules in the gas:

- dipole moments, D: 177 polar molecules of NIST's CCCBDB (doi:10.18434/T47C7Z), chosen before
  any was computed.
- ionisation energies, eV, vertical: NIST's values of the molecules of nonmetals of GW100, all of
  them (doi:10.1021/acs.jctc.6b01150).
- electron affinities, eV, adiabatic: electron transfer equilibria (doi:10.1063/1.446438),
  photoelectrons of TCNQ (doi:10.1063/1.4937761), and naphthalene of NIST's WebBook. What binds no
  electron has no such value, and is not among them.
"""

import argparse
import csv
import sys
from math import sqrt
from pathlib import Path
from statistics import fmean

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.simulation.xtbproperties import XtbProperties

TABLE = Path(__file__).with_suffix(".csv")


def differences(method: str, quantity: str, *, relaxed: bool) -> dict[str, float]:
    """Computed less measured, by SMILES."""
    verifier = XtbProperties(method=method, score=quantity, relaxed=relaxed)
    verifier.setup()
    with TABLE.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == quantity]
    verdicts = verifier.judge([Candidate("molecule", row["smiles"]) for row in rows])
    return {
        row["smiles"]: verdict.score - float(row["value"])
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict.score is not None
    }


def main() -> None:
    """Print, for each method, root-mean-square and mean differences, and the largest."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--relaxed", action="store_true", help="relax geometries; takes minutes")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 if a declared deviation is not what is found"
    )
    given = parser.parse_args()
    wrong = False
    for quantity in ("dipole", "ionisation_energy", "electron_affinity"):
        for method in ("GFN2-xTB", "GFN1-xTB", "IPEA1-xTB"):
            declared = XtbProperties(method=method, score=quantity).deviation
            if declared is None:
                continue
            found = differences(method, quantity, relaxed=given.relaxed)
            root = sqrt(fmean(each**2 for each in found.values()))
            error = root / sqrt(2 * len(found))
            worst = max(found, key=lambda smiles: abs(found[smiles]))
            wrong |= abs(root - declared) > 2 * error
            print(
                f"{quantity:18} {method:9} {len(found):3} molecules: {root:.2f} ± {error:.2f} "
                f"(declared {declared}), mean {fmean(found.values()):+.2f}, "
                f"largest {found[worst]:+.2f} of {worst}"
            )
    if given.check and wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
