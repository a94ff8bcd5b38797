"""Fit the coefficients of the hydration estimate to the FreeSolv table, and cross-validate them.

    python tools/fit_hydration.py PATH/TO/freesolv_v0.52.csv

The table (https://doi.org/10.5281/zenodo.1161245) has columns `smiles` and `expt` in kcal/mol.
It writes `tiers/fast/groups.csv` again; the groups themselves are fixed.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verifier_ladder.tiers.fast.hydration import (
    LEAST_DEVIATION,
    RELATIVE_DEVIATION,
    counts,
    groups,
)
from verifier_ladder.tiers.fast.molecule import parse

TABLE = Path(__file__).parents[1] / "tiers" / "fast" / "groups.csv"
RIDGE = 0.05
FOLDS = 10

Floats = NDArray[np.float64]


def read(path: Path) -> tuple[Floats, Floats]:
    """Counts and measured values of every molecule in the table."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found = [counts(parse(row["smiles"])) for row in rows]
    return np.array(found), np.array([float(row["expt"]) for row in rows])


def fit(found: Floats, measured: Floats) -> Floats:
    """Ridge regression on scaled counts; the constant, which stands first, is free."""
    scale = found.std(axis=0)
    scale[0] = 1.0
    scaled = found / scale
    penalty = RIDGE * np.eye(found.shape[1])
    penalty[0, 0] = 0.0
    solved: Floats = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ measured) / scale
    return solved


def left_out(found: Floats, measured: Floats) -> Floats:
    """Predictions for each molecule by fits that have not seen it."""
    fold = np.random.default_rng(0).permutation(len(measured)) % FOLDS
    predicted = np.zeros_like(measured)
    for number in range(FOLDS):
        out = fold == number
        predicted[out] = found[out] @ fit(found[~out], measured[~out])
    return predicted


def main() -> None:
    """Fit, report, write."""
    found, measured = read(Path(sys.argv[1]))
    predicted = left_out(found, measured)
    error = predicted - measured
    stated = np.maximum(LEAST_DEVIATION, RELATIVE_DEVIATION * abs(predicted))
    print(f"{len(measured)} molecules, {found.shape[1]} coefficients, {FOLDS} folds")
    print(f"root-mean-square error {np.sqrt(np.mean(error**2)):.2f} kcal/mol")
    print(f"mean absolute error    {np.mean(abs(error)):.2f} kcal/mol")
    print(f"correlation            {np.corrcoef(predicted, measured)[0, 1]:.3f}")
    print(f"error within the stated deviation: {np.mean(abs(error) < stated):.0%}")
    best, most = fit(found, measured), found.max(axis=0)
    with TABLE.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["name", "smarts", "coefficient", "most"])
        for group, value, largest in zip(groups(), best, most, strict=True):
            writer.writerow([group.name, group.smarts, f"{value:.4f}", f"{largest:g}"])


if __name__ == "__main__":
    main()
