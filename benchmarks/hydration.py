"""How far `xtb-hydration` and `dft-hydration` are off measured hydration free energies, kcal/mol.

    python benchmarks/hydration.py xtb PATH/TO/freesolv_v0.52.csv   # doi:10.5281/zenodo.1161245
    python benchmarks/hydration.py xtb PATH --sample 100            # so many of them, at random
    python benchmarks/hydration.py dft --most 56   # molecules with so many basis functions

The last takes its values from `tiers/world/hydration.csv`, which the library has.
"""

import argparse
import csv
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.high_fidelity.basis import rough_numbers
from verifier_ladder.tiers.high_fidelity.dft import DftHydration
from verifier_ladder.tiers.high_fidelity.level import Level
from verifier_ladder.tiers.simulation.xtb import CORRECTION, XtbHydration
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Verdict

MEASURED = Path(__file__).parents[1] / "tiers" / "world" / "hydration.csv"
Rows = Sequence[tuple[str, float]]


def read(path: Path, column: str) -> Rows:
    """Molecules and what was measured."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [(row["smiles"], float(row[column])) for row in csv.DictReader(lines)]


def judged(verifier: SingleVerifier, rows: Rows) -> dict[str, Verdict]:
    """What is said of each molecule that something is said of."""
    verifier.setup()
    found = {}
    for smiles, _ in rows:
        (verdict,) = verifier.judge([Candidate("molecule", smiles)])
        if verdict.score is None:
            print(f"  {smiles}: {verdict.reason}", file=sys.stderr)
        else:
            found[smiles] = verdict
    return found


def compare(title: str, declared: float | None, found: Mapping[str, Any], rows: Rows) -> None:
    """Print what is computed less what was measured."""
    names = [smiles for smiles, _ in rows if smiles in found]
    true = np.array([value for smiles, value in rows if smiles in found])
    computed = np.array([found[smiles] for smiles in names])
    off = computed - true
    root = float(np.sqrt((off**2).mean()))
    worst = [f"{off[place]:+.2f} of {names[place]}" for place in np.argsort(-np.abs(off))[:2]]
    print(
        f"{title}: {len(off)} molecules, r {np.corrcoef(computed, true)[0, 1]:.2f}, absolute "
        f"{np.abs(off).mean():.2f}, root-mean-square {root:.2f} ± "
        f"{root / np.sqrt(2 * len(off)):.2f} (declared {declared}), mean {off.mean():+.2f}, "
        f"largest {', '.join(worst)}",
        flush=True,
    )


def of_xtb(method: str, rows: Rows) -> None:
    """As computed, and corrected."""
    verifier, plain = (XtbHydration(method=method, corrected=each) for each in (True, False))
    found = judged(verifier, rows)
    computed = {smiles: verdict.evidence["as computed"] for smiles, verdict in found.items()}
    compare(f"{method}, as computed", plain.deviation, computed, rows)
    corrected = {smiles: verdict.score for smiles, verdict in found.items()}
    compare(f"{method}, corrected", verifier.deviation, corrected, rows)


def of_dft(most: int) -> None:
    """Of molecules with so many basis functions at most."""
    verifier = DftHydration()
    size = Level.read(verifier.settings["level"]).rough_functions
    rows = [each for each in read(MEASURED, "value") if 0 < size(rough_numbers(each[0])) <= most]
    found = {smiles: verdict.score for smiles, verdict in judged(verifier, rows).items()}
    compare("dft-hydration", verifier.deviation, found, rows)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("tier", choices=("xtb", "dft"))
    parser.add_argument("table", nargs="?", type=Path)
    parser.add_argument("--method", choices=sorted(CORRECTION), help="both by default")
    parser.add_argument("--sample", type=int, help="molecules, drawn with a fixed seed")
    parser.add_argument("--most", type=int, default=10_000, help="basis functions of a molecule")
    given = parser.parse_args()
    if given.tier == "dft":
        of_dft(given.most)
        return
    if given.table is None:
        parser.error("name the table of FreeSolv")
    rows = read(given.table, "expt")
    if given.sample:
        rows = random.Random(0).sample(rows, given.sample)  # noqa: S311 - a draw, no secret
    for method in [given.method] if given.method else sorted(CORRECTION):
        of_xtb(method, rows)


if __name__ == "__main__":
    main()
