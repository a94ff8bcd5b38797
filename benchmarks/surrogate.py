"""What a surrogate learns from the verdicts of a campaign, and what it is worth.

    python benchmarks/surrogate.py learning PATH/TO/freesolv_v0.52.csv
    python benchmarks/surrogate.py campaign PATH [--below gaff] [--shuffled] [--silent]
    python benchmarks/surrogate.py chance

The table is FreeSolv 0.52, doi:10.5281/zenodo.1161245.

`learning`: one version for each number of labels, on candidates whose families it has not seen.
`campaign`: real campaigns that audit a share of their samples at random, with a surrogate and
without, in several orders of the table; and the same where labels are shuffled, so that there is
nothing to learn. What is measured is what the learner was told of samples that were not audited.
Both campaigns of an order have one seed, so that the same samples are audited. With `--silent`,
the first tier of that without a surrogate says nothing, as a surrogate does in shadow.
`chance`: how often a version that knows nothing would begin to speak.
"""

from __future__ import annotations

import argparse
import csv
import threading
from collections.abc import Iterator, Sequence
from math import ceil, nan
from pathlib import Path

import numpy as np

import verifier_ladder as vl
from verifier_ladder.arrays import Floats
from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.audits import Audit
from verifier_ladder.scheduler.beliefs import Seen
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.surrogates import KIND, LOOKS, State, decided, review
from verifier_ladder.tiers.fast.descriptors import checked_numbers, family_key
from verifier_ladder.tiers.fast.molecule import MoleculeCanonicaliser
from verifier_ladder.tiers.fast.surrogate import Surrogate, fit

STEP = 64
"""Samples of one call."""
AUDITED = 0.35
NEVER = Thresholds(thresholds={"high_fidelity": 1e9})
"""Nothing is asked but what chance chooses, so that all arms pay alike."""


def read(path: Path) -> tuple[list[str], Floats, Floats]:
    """Molecules in canonical form, what was measured, and a force field's estimate of it."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    forms = [str(MoleculeCanonicaliser().canonicalise(row["smiles"])) for row in rows]
    values = np.array([[float(row["expt"]), float(row["calc_gaff"])] for row in rows])
    return forms, values[:, 0], values[:, 1]


def mean_of(numbers: Sequence[float]) -> str:
    """Mean and standard error."""
    found = np.array(numbers)
    return f"{found.mean():.3f} ± {found.std(ddof=1) / np.sqrt(len(found)):.3f}"


# ---- What is learnt


def learning(path: Path, orders: int) -> None:
    """Correlation and error by the number of labels."""
    forms, truth, _ = read(path)
    by = Surrogate()
    inputs = np.array([checked_numbers(by.descriptors, form) for form in forms])
    held = np.array([by.is_held_out(family_key(by.descriptors, form)) for form in forms])
    for count in (64, 128, 256, 512):
        found: list[tuple[float, ...]] = []
        for seed in range(orders):
            rows = np.random.default_rng(seed).permutation(len(truth))[:count]
            used = rows[~held[rows]]
            model = fit(inputs[used], truth[used], count)
            mean, spread = model.predict(inputs[held])
            off = mean - truth[held]
            width = 1.645 * np.hypot(spread, model.noise)
            found.append((
                float(np.corrcoef(mean, truth[held])[0, 1]),
                float(np.sqrt((off**2).mean()) / truth[held].std()),
                float((np.abs(off) < width).mean()), float(len(used)),
            ))  # fmt: skip
        r, error, coverage, used_ = zip(*found, strict=True)
        print(
            f"{count} labels, {np.mean(used_):.0f} of them trained on, {held.sum()} held out: "
            f"r {mean_of(r)}, error over the labels' deviation {mean_of(error)}, "
            f"90 % intervals cover {mean_of(coverage)}",
            flush=True,
        )


# ---- What it is worth


def table_of(name: str, tier: str, rows: Sequence[str], said: Floats) -> vl.Verifier:
    """A verifier that says what stands in a table."""
    values = dict(zip(rows, said.tolist(), strict=True))

    def look_up(candidate: vl.Candidate) -> float:
        return float(values[str(candidate.content)])

    return vl.verifier(
        name=name, tier=tier, kind="molecule", version="1", isolation="inline",
        same_quantity=True,
    )(look_up)  # fmt: skip


def until_it_rests() -> None:
    """Wait until no surrogate is looked after."""
    for thread in threading.enumerate():
        if thread.name == "vl-surrogate":
            thread.join()


def told(
    verifiers: list[vl.Verifier], forms: Sequence[str], seed: int
) -> tuple[Floats, list[bool]]:
    """Rewards of samples that were not audited, NaN for others; whether a version spoke, by step.

    It is 0 where no tier that knows anything has answered.
    """
    reward = vl.RewardRule(estimator="plugin")
    ladder = vl.Ladder("l", verifiers, policy=NEVER, audit=AUDITED, reward=reward)
    found, speaks = list[float](), list[bool]()
    with open_ledger(None) as ledger, seeded(ladder, ledger, seed) as one:
        for begin in range(0, len(forms), STEP):
            step = begin // STEP
            one.score(forms[begin : begin + STEP], step=step)
            one.drain("300 s")
            until_it_rests()
            speaks.append(speaker(ledger) is not None)
            rows = ledger.recorded("c", one.run.name, step)
            rewards = [rows[position].reward for position in sorted(rows)]
            found += [
                nan if each.components.get("measured") is not None else each.value or 0.0
                for each in rewards
            ]
    return np.array(found), speaks


def seeded(ladder: vl.Ladder, ledger: Ledger, seed: int) -> vl.Campaign:
    """A campaign whose draws are those of every other one with this seed."""
    spec = {**ladder.as_json(), "seed": seed.to_bytes(16, "big").hex()}
    ledger.open_campaign("c", spec, ladder.digest)
    return vl.Campaign.open("c", ladder=ladder, ledger=ledger, run="r")


def speaker(ledger: Ledger) -> object:
    """The version that speaks."""
    entry = ledger.last(kind=KIND, campaign="c")
    return None if entry is None else ledger.read(entry).facts["speaks"]


def campaign(path: Path, orders: int, below: str, *, is_shuffled: bool, is_silent: bool) -> None:
    """Campaigns with and without a surrogate, on the same molecules in the same order."""
    forms, measured, gaff = read(path)
    errors: list[tuple[float, float]] = []
    spoke: list[bool] = []
    for seed in range(orders):
        chance = np.random.default_rng(seed)
        order = chance.permutation(len(forms))
        rows = [forms[place] for place in order]
        said = chance.permutation(measured[order]) if is_shuffled else measured[order]
        tiers = [table_of("measured", "high_fidelity", rows, said)]
        if below == "gaff":
            tiers.insert(0, table_of("gaff", "simulation", rows, gaff[order]))
        first = silent() if is_silent else flat()
        arms = [[first, *tiers], [Surrogate(), *tiers]]
        errors.append(compared(arms, rows, said, seed, spoke))
        print(f"order {seed}: {errors[-1]}, a version spoke: {spoke[-1]}", flush=True)
    without, with_ = np.array(errors).T
    print(
        f"{'shuffled' if is_shuffled else 'as measured'}, {below} between, "
        f"{'a silent' if is_silent else 'a flat'} tier instead: a version spoke in "
        f"{sum(spoke)} of {orders} orders; error of the last 256 rewards over the labels' "
        f"deviation without {mean_of(without)}, with {mean_of(with_)}, ratio "
        f"{mean_of(with_ / without)}"
    )


def compared(
    arms: list[list[vl.Verifier]], rows: Sequence[str], truth: Floats, seed: int,
    spoke: list[bool],
) -> tuple[float, float]:  # fmt: skip
    """Root mean square error of the last rewards without a surrogate and with one."""
    found = []
    for verifiers in arms:
        rewards, speaks = told(verifiers, rows, seed)
        off = (np.where(rewards == 0.0, truth.mean(), rewards) - truth)[-256:]
        found.append(float(np.sqrt(np.nanmean(off**2)) / truth.std()))
    spoke.append(any(speaks))
    return found[0], found[1]


def flat() -> vl.Verifier:
    """A first tier that knows nothing, so that there is a reward without a surrogate."""
    return vl.verifier(
        name="flat", tier="fast", kind="molecule", version="1", isolation="inline"
    )(lambda _: 0.0)  # fmt: skip


def silent() -> vl.Verifier:
    """A first tier that says nothing, as a surrogate does while no version speaks."""
    return vl.verifier(
        name="silent", tier="fast", kind="molecule", version="1", isolation="inline",
        same_quantity=True,
    )(lambda _: vl.Verdict.abstain("it says nothing"))  # fmt: skip


# ---- How often chance speaks


def lessons(truth: Floats) -> Iterator[Lessons]:
    """Labels that were drawn at random, 16 at a time."""
    for begin in range(0, len(truth), 16):
        some = truth[begin : begin + 16]
        seen = Seen(
            np.column_stack([np.full(len(some), nan), some]), np.full((len(some), 2), nan),
            np.empty((len(some), 0)),
        )  # fmt: skip
        yield Lessons(
            [_key(begin + row) for row in range(len(some))], seen, some.copy(),
            np.zeros(len(some), dtype=bool),
            [Audit(SampleId("r", 0, row), Draw(0.5, 0.1, None, 2.0), None, y, is_good=True)
             for row, y in enumerate(some.tolist())],
        )  # fmt: skip


def _key(row: int) -> bytes:
    return row.to_bytes(4, "big")


def chance(runs: int, most: int = 512) -> None:
    """Versions whose scores are noise, looked at as a campaign does."""
    ladder = vl.Ladder("l", [Surrogate(), table_of("top", "high_fidelity", [], np.empty(0))])
    began = ended = 0
    for seed in range(runs):
        draws = np.random.default_rng(seed)
        truth, state, labels, version = draws.normal(size=most), State(), 64, 0
        held = draws.random(most) < Surrogate().held_out
        said = {0: draws.normal(size=most)}
        while labels <= most:
            told_ = list(lessons(truth[:labels]))
            rows = np.flatnonzero(held[:labels]).tolist()
            values = {_key(row): float(truth[row]) for row in rows}
            reviews = [
                review(ladder, told_, {_key(r): (float(said[ref["name"]][r]), 1.0) for r in rows},
                       values) if ref else None
                for ref in (state.speaks, state.shadow)
            ]  # fmt: skip
            state = decided(state, *reviews)
            began += state.speaks is not None
            if labels >= 64 * 2**version:
                version += 1
                said[version] = 0.3 * draws.normal(size=most)
                state.shadow = {"name": version}
            labels = ceil(labels * LOOKS)
        ended += state.speaks is not None
    print(
        f"of {runs} runs to {most} labels with nothing to learn, {ended} ended with a version "
        f"that speaks; one spoke after {began} looks in all",
        flush=True,
    )


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["learning", "campaign", "chance"])
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--below", choices=["nothing", "gaff"], default="nothing")
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    if given.what == "chance":
        chance(given.runs)
        return
    if given.path is None:
        parser.error(f"{given.what} needs the table")
    if given.what == "learning":
        learning(given.path, given.orders)
        return
    campaign(
        given.path, given.orders, given.below, is_shuffled=given.shuffled, is_silent=given.silent
    )


if __name__ == "__main__":
    main()
