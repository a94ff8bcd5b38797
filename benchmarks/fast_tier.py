"""Fast-tier throughput with everything on, against bare RDKit in as many processes.

Run: `python benchmarks/fast_tier.py [--count 100000] [--rounds 3]`

Bare: `MolFromSmiles` + `MolToSmiles` over the same list in a loky pool. Ours: `Campaign.score`
with the molecule gate: keys, canonical forms, verdicts, decisions and rewards, all written to a
new SQLite ledger. The two alternate, so that a noisy machine disturbs both; the ratio is the
median over the rounds. Goal: at least 0.70.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from loky import ProcessPoolExecutor
from smiles import mixed_smiles

import verifier_ladder as vl


def bare_chunk(chunk: list[str]) -> list[str | None]:
    """Parse and canonicalise, nothing else."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    canonical: list[str | None] = []
    for text in chunk:
        mol: Chem.Mol | None = Chem.MolFromSmiles(text)
        canonical.append(None if mol is None else Chem.MolToSmiles(mol))
    return canonical


def bare(smiles: list[str], pool: ProcessPoolExecutor) -> float:
    """Seconds that bare RDKit takes."""
    started = perf_counter()
    chunks = [smiles[i : i + 512] for i in range(0, len(smiles), 512)]
    for _ in pool.map(bare_chunk, chunks):
        pass
    return perf_counter() - started


def ours(smiles: list[str], workers: int, batch: int) -> float:
    """Seconds that a campaign takes, from the first call to the last reward."""
    gate = vl.Ladder("gate", ["molecule-gate"])
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        with vl.Campaign.open("bench", ladder=gate, ledger=ledger, workers=workers) as campaign:
            campaign.score(["CCO"] * 4 + ["CCN", "CCC"])
            started = perf_counter()
            for i in range(0, len(smiles), batch):
                campaign.score(smiles[i : i + batch])
            return perf_counter() - started


def main() -> None:
    """Alternate the two and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=100_000)
    options = parser.parse_args()
    smiles = mixed_smiles(options.count)
    ratios = []
    with ProcessPoolExecutor(max_workers=options.workers, timeout=None) as pool:
        bare(smiles[:2048], pool)
        for number in range(options.rounds):
            theirs = bare(smiles, pool)
            mine = ours(smiles, options.workers, options.batch)
            ratios.append(theirs / mine)
            print(
                f"round {number + 1}: bare {theirs:6.2f} s ({len(smiles) / theirs:7.0f}/s), "
                f"ladder {mine:6.2f} s ({len(smiles) / mine:7.0f}/s), ratio {theirs / mine:.3f}"
            )
    print(f"fast tier / bare RDKit, {options.workers} processes: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
