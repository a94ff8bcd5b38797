"""How well beliefs are calibrated from few labels, against simpler models and one costlier one.

Run: `python benchmarks/calibration.py --data FOLDER [--seeds 10]`

For each pair of a cheap and a dear column of the tables in the folder, each model learns n random
labels, one by one, and predicts 300 other rows. Printed per model and n: the mean continuous
ranked probability score (CRPS, in standard deviations of the truth; smaller is better), the mean
and the largest distance of the 90 % interval's coverage from 0.9 over the pairs. For truths that
are 0 or 1: the log loss. Then how fast predictions are made.

Peers need scikit-learn: isotonic regression with its residuals' deviation, and a Gaussian process
with a radial kernel and noise. Without it they are left out.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import erf, nan
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verifier_ladder.scheduler.beliefs.binary import Binary
from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.model import Seen

Floats = NDArray[np.float64]
Model = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""Takes scores and truths to learn and scores to predict; gives means and deviations."""

LABELS = (4, 8, 32, 256)
MOST, AHEAD = max(LABELS), 300
WIDTH = 1.6448536269514722
"""Half of the central 90 % of a normal distribution, in deviations."""

LCDB, COF = "lcdb_accuracy_tiers.csv", "cof_xekr.csv"
PAIRS: dict[str, list[tuple[str, str]]] = {
    LCDB: [
        ("acc_valid_16", "acc_full_test"), ("acc_valid_64", "acc_full_test"),
        ("acc_valid_256", "acc_full_test"), ("acc_valid_1024", "acc_full_test"),
        ("acc_valid_16", "acc_valid_256"), ("acc_valid_64", "acc_valid_1024"),
    ],
    "freesolv_v0.52.csv": [("calc_gaff", "expt")],
    COF: [
        ("henry_y", "gcmc_y"), ("void_fraction", "gcmc_y"), ("pore_diameter_A", "gcmc_y"),
        ("surface_area_m2_per_g", "gcmc_y"),
    ],
}  # fmt: skip
SAME = {"calc_gaff", "henry_y"} | {name for name, _ in PAIRS[LCDB]}
"""Columns that estimate the truth itself, in its unit."""
BINARY = [
    ("humanevalplus_16samplers.csv", "base", "plus", 0.5),
    ("humanevalplus_16samplers.csv", "n_chars", "plus", 0.5),
    (LCDB, "acc_valid_16", "acc_full_test", 0.8),
    (LCDB, "acc_valid_256", "acc_full_test", 0.8),
    (COF, "henry_y", "gcmc_y", 10.0),
    (COF, "pore_diameter_A", "gcmc_y", 10.0),
]
"""File, column of the cheap score, column of the truth, and the value above which it is 1."""


def read(folder: Path, file: str, *columns: str) -> list[Floats]:
    """Columns of a table, without the rows in which one of them is missing."""
    with (folder / file).open(newline="", encoding="utf-8") as lines:
        rows = [[row[name] for name in columns] for row in csv.DictReader(lines)]
    table = np.array([[float(cell) if cell else nan for cell in row] for row in rows])
    return list(table[np.isfinite(table).all(axis=1)].T)


def splits(scores: Floats, truth: Floats, seeds: int) -> Iterator[tuple[int, list[Floats]]]:
    """For each seed and count: scores and truths to learn, scores and truths to predict."""
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(scores))
        ahead = order[MOST : MOST + AHEAD]
        for count in LABELS:
            known = order[:count]
            yield count, [scores[known], truth[known], scores[ahead], truth[ahead]]


def seen(lower: Floats, top: Floats | None = None) -> Seen:
    """What one lower tier, and the top tier, have said."""
    truth = np.full(len(lower), nan) if top is None else top
    table = np.column_stack([lower, truth])
    return Seen(table, np.full(table.shape, nan), np.empty((len(lower), 0)))


def calibrated(tier: Declaration, fit: Any = None) -> Model:
    """The project's own model, taught label by label."""

    def model(scores: Floats, truth: Floats, ahead: Floats) -> tuple[Floats, Floats]:
        tiers = [tier, Declaration("top")]
        belief = CalibratedBelief(tiers, fit=fit) if fit else CalibratedBelief(tiers)
        for row in range(len(scores)):
            one = slice(row, row + 1)
            belief.learn(seen(scores[one], truth[one]), truth[one], np.ones(1, dtype=bool))
        beliefs = belief.predict(seen(ahead))
        return beliefs.mean, beliefs.deviation

    return model


def null(scores: Floats, truth: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of the labels, whatever the score."""
    del scores
    return np.full(len(ahead), truth.mean()), np.full(len(ahead), truth.std(ddof=1))


def isotonic(scores: Floats, truth: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """Isotonic regression, and the deviation of its residuals."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(increasing="auto", out_of_bounds="clip").fit(scores, truth)
    residuals = truth - model.predict(scores)
    deviation = np.sqrt((residuals**2).sum() / (len(truth) - 1)) + 1e-9
    return model.predict(ahead), np.full(len(ahead), deviation)


def gaussian_process(scores: Floats, truth: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """A Gaussian process of one dimension, its kernel fitted to the labels."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    centre, scale = scores.mean(), scores.std() or 1.0
    mean, unit = truth.mean(), truth.std() or 1.0
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(1.0, (0.1, 10.0)) + WhiteKernel(0.3, (1e-3, 3))
    model = GaussianProcessRegressor(kernel).fit(
        ((scores - centre) / scale)[:, None], (truth - mean) / unit
    )
    said, deviation = model.predict(((ahead - centre) / scale)[:, None], return_std=True)
    return mean + unit * said, unit * deviation


def crps(truth: Floats, mean: Floats, deviation: Floats) -> float:
    """Mean CRPS of normal predictions (Gneiting and Raftery, 2007, equation 21)."""
    z = (truth - mean) / deviation
    inside = np.array([erf(value / np.sqrt(2.0)) for value in z])
    density = np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
    return float((deviation * (z * inside + 2.0 * density - 1.0 / np.sqrt(np.pi))).mean())


def compare_real(folder: Path, seeds: int, peers: dict[str, Model]) -> None:
    """Print CRPS and coverage of every model."""
    crpss: dict[tuple[str, int], list[list[float]]] = {}
    shares: dict[tuple[str, int], list[list[float]]] = {}
    for file, pairs in PAIRS.items():
        for cheap, dear in pairs:
            scores, truth = read(folder, file, cheap, dear)
            models = {
                "calibrated": calibrated(Declaration(cheap)),
                "calibrated, declared": calibrated(Declaration(cheap, is_same=cheap in SAME)),
            } | peers
            for name in models:
                for count in LABELS:
                    crpss.setdefault((name, count), []).append([])
                    shares.setdefault((name, count), []).append([])
            for count, (known, labels, ahead, truths) in splits(scores, truth, seeds):
                for name, model in models.items():
                    mean, deviation = model(known, labels, ahead)
                    crpss[name, count][-1].append(crps(truths, mean, deviation) / truth.std())
                    inside = np.abs(truths - mean) <= WIDTH * deviation
                    shares[name, count][-1].append(float(inside.mean()))
    print(f"CRPS | mean and largest |coverage − 0.9| over {len(crpss['null', 4])} pairs")
    print(f"{'labels':24}" + "".join(f"{count:>20}" for count in LABELS))
    for name in dict.fromkeys(name for name, _ in crpss):
        cells = []
        for count in LABELS:
            away = [abs(np.mean(pair) - 0.9) for pair in shares[name, count]]
            score = np.mean([np.mean(pair) for pair in crpss[name, count]])
            cells.append(f"  {score:.3f} | {np.mean(away):.3f} {max(away):.3f}")
        print(f"{name:24}" + "".join(cells))


def compare_binary(folder: Path, seeds: int, peers: dict[str, Model]) -> None:
    """Print the log loss of every model where the truth is 0 or 1."""
    models = {
        "logistic": calibrated(Declaration("cheap"), Binary),
        "as if real": calibrated(Declaration("cheap")),
    } | {name: model for name, model in peers.items() if name != "Gaussian process"}
    losses: dict[tuple[str, int], list[float]] = {}
    for file, cheap, dear, limit in BINARY:
        scores, numbers = read(folder, file, cheap, dear)
        truth = (numbers > limit).astype(float)
        for count, (known, labels, ahead, truths) in splits(scores, truth, seeds):
            for name, model in models.items():
                least = 1.0 / (count + 2.0)
                chance = np.clip(model(known, labels, ahead)[0], least, 1.0 - least)
                loss = -np.log(np.where(truths > 0, chance, 1.0 - chance)).mean()
                losses.setdefault((name, count), []).append(float(loss))
    print(f"\nLog loss where the truth is 0 or 1, over {len(BINARY)} pairs")
    for name in models:
        row = "".join(f"{np.mean(losses[name, count]):>20.3f}" for count in LABELS)
        print(f"{name:24}{row}")


def measure_speed(folder: Path) -> None:
    """Print how many rows a second are predicted."""
    scores, truth = read(folder, *(LCDB, "acc_valid_64", "acc_full_test"))
    belief = CalibratedBelief([Declaration("cheap"), Declaration("top")])
    belief.learn(seen(scores[:500], truth[:500]), truth[:500], np.ones(500, dtype=bool))
    print("\nPredictions, least of 30 rounds")
    for size in (16, 256, 4096):
        batch, times = seen(np.resize(scores, size)), []
        for _ in range(30):
            started = process_time()
            for _ in range(20):
                belief.predict(batch)
            times.append((process_time() - started) / 20)
        least = min(times)
        print(f"{size:>6} rows: {least * 1e6:6.0f} µs, {size / least / 1e6:.2f} M rows/s")


def main() -> None:
    """Compare all models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    files = {*PAIRS, *(file for file, *_ in BINARY)}
    missing = sorted(file for file in files if not (options.data / file).is_file())
    if missing:
        sys.exit(f"{options.data} lacks {', '.join(missing)}; nothing was measured")
    peers: dict[str, Model] = {"null": null}
    if find_spec("sklearn"):
        peers |= {"isotonic": isotonic, "Gaussian process": gaussian_process}
    else:
        print("scikit-learn is not installed: isotonic and Gaussian process are left out")
    compare_real(options.data, options.seeds, peers)
    compare_binary(options.data, options.seeds, peers)
    measure_speed(options.data)


if __name__ == "__main__":
    main()
