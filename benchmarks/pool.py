"""What the worker pool adds to a bare `loky` executor that does the same work unprotected.

Ratios of medians from one run on one machine, the variants taken in turns, so that the machine's
load meets all of them alike.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from loky.process_executor import ProcessPoolExecutor

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.pool import WorkerPool

Submit = Callable[[Sequence[Any]], Future[Any]]


class Half(NamedTuple):
    """One side of a comparison."""

    submit: Submit
    items: Sequence[Any]


def length(candidate: Candidate) -> float:
    """The cheapest verdict there is."""
    return float(len(candidate.content))


def lengths(contents: Sequence[str]) -> list[float]:
    """The same, bare."""
    return [float(len(content)) for content in contents]


class Spelling(Canonicaliser):
    """RDKit's canonical SMILES."""

    kind, name = "molecule", "benchmark-spelling"

    def canonicalise(self, content: str | bytes) -> str | bytes:
        """Parse and write."""
        return canonical(str(content))


def canonical(smiles: str) -> str:
    """RDKit's canonical SMILES."""
    from rdkit import Chem

    return str(Chem.MolToSmiles(Chem.MolFromSmiles(smiles)))


def canonicals(contents: Sequence[str]) -> list[str]:
    """The same for a batch."""
    return [canonical(content) for content in contents]


def seconds(submit: Submit, batches: Sequence[Sequence[Any]]) -> float:
    """Wall time for all batches, in flight together."""
    start = time.perf_counter()
    for future in [submit(batch) for batch in batches]:
        future.result()
    return time.perf_counter() - start


def split(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Cut into batches."""
    return [items[n : n + size] for n in range(0, len(items), size)]


def compare(name: str, bare: Half, ours: Half, *, batch: int, runs: int) -> None:
    """Print one line; a first round, which starts workers, is dropped."""
    halves = {"bare": bare, "ours": ours}
    batches = {key: split(half.items, batch) for key, half in halves.items()}
    times: dict[str, list[float]] = {key: [] for key in halves}
    for _ in range(runs + 1):
        for key, half in halves.items():
            times[key].append(seconds(half.submit, batches[key]))
    each = {k: statistics.median(v[1:]) / len(bare.items) * 1e6 for k, v in times.items()}
    print(
        f"{name:24} batch {batch:4}  bare {each['bare']:7.2f} µs  pool {each['ours']:7.2f} µs  "
        f"adds {each['ours'] - each['bare']:6.2f} µs  "
        f"speed {each['bare'] / each['ours']:5.2f} of bare"
    )


def main() -> None:
    """Compare trivial verdicts and, with RDKit, canonical SMILES."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=16_384)
    options = parser.parse_args()
    executor = ProcessPoolExecutor(max_workers=options.workers, timeout=None)
    texts = [f"candidate number {n}" for n in range(options.size)]
    candidates = [Candidate("text", text) for text in texts]
    trivial = FunctionVerifier(length, name="benchmark-length", version="1")
    with WorkerPool(options.workers) as pool:
        bare = Half(lambda batch: executor.submit(lengths, batch), texts)
        ours = Half(lambda batch: pool.verify(trivial, batch), candidates)
        for size in (64, 256, 1024):
            compare("trivial verdict", bare, ours, batch=size, runs=options.runs)
        try:
            canonical("C")
        except ImportError:
            print("canonical SMILES: not run, RDKit is not installed")
        else:
            phenols = ["C" * (n % 12 + 1) + "c1ccc(O)cc1" + "OC" * (n % 5) for n in range(4096)]
            spelling = Spelling()
            bare = Half(lambda batch: executor.submit(canonicals, batch), phenols)
            ours = Half(lambda batch: pool.canonicalise(spelling, batch), phenols)
            compare("RDKit canonical SMILES", bare, ours, batch=256, runs=options.runs)
    executor.shutdown(kill_workers=True)


if __name__ == "__main__":
    main()
