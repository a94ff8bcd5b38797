"""Strike a campaign of several processes for some minutes, and count what was lost.

Run: `make chaos CHAOS_FLAGS="--minutes 5"`. Every blow falls at a random moment; after each the
crew must work again before the next. Exit code 1 if anything was lost or paid twice.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from time import monotonic

from chaos.audit import Audit, audit, finish
from chaos.crew import Crew
from chaos.faults import SLOW_FAULTS, faults_of
from chaos.onlooker import Onlooker
from chaos.place import Place, on_disk, on_servers

Blows = dict[str, list[float]]
"""Seconds until the crew executed again, blow by blow, for each fault."""


def strike(
    place: Place, *, seconds: float, blows: int | None = None, seed: int, ranks: int,
    hosts: int = 0, only: Collection[str] = (),
) -> tuple[Blows, Audit]:  # fmt: skip
    """Run a crew, strike it, let it finish, and audit the ledger.

    Args:
        place: Where the ledger lies.
        seconds: How long to strike.
        blows: How many blows at most.
        seed: Of what is chosen at random.
        ranks: Processes that score.
        hosts: Processes that run checks for them.
        only: The faults to strike with; by default all that don't take minutes.
    """
    rng, recovered = random.Random(seed), defaultdict(list)  # noqa: S311 - no secret
    crew = Crew(place, ranks, hosts)
    chosen = only or faults_of(crew).keys() - SLOW_FAULTS.keys()
    faults = {name: fault for name, fault in faults_of(crew).items() if name in chosen}
    with Onlooker(place.ledger) as onlooker:
        try:
            crew.work(1)
            until, dealt = monotonic() + seconds, 0
            while monotonic() < until and (blows is None or dealt < blows):
                name = list(faults)[dealt % len(faults)]
                crew.work(rng.randrange(1, 4000))
                faults[name](crew, rng)
                recovered[name].append(crew.work(1))
                dealt += 1
            crew.stop()
        finally:
            crew.close()
        finish(place)
    return recovered, audit(place, ranks, onlooker)


def table(recovered: Blows, found: Audit) -> str:
    """What happened, for people."""
    lines = [f"{'fault':<18}{'blows':>7}{'seconds to recover, median':>29}{'worst':>8}"]
    lines += [
        f"{name:<18}{len(times):>7}{statistics.median(times):>29.2f}{max(times):>8.2f}"
        for name, times in recovered.items()
    ]
    total = sum(map(len, recovered.values()))
    lines.append(
        f"{found.samples} samples, {found.checks} checks, {total} blows: {found.lost} lost, "
        f"{found.paid_twice} paid twice, {found.answered_twice} answered twice, {found.broken} "
        f"entries broken, {found.late} begun after their answer; {found.again} executed again"
    )
    if found.is_clean and total:
        lines.append(f"at 95 % confidence fewer than {3 / total:.1%} of blows lose anything (3/N)")
    return "\n".join(lines)


def main() -> None:
    """Read the options, strike, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--blows", type=int)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--hosts", type=int, default=0, help="worker hosts beside the ranks")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311
    parser.add_argument(
        "--servers", action="store_true", help="on PostgreSQL and Redis, which are struck too"
    )
    parser.add_argument("--fault", action="append", default=[], help="only this one; repeatable")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.environ["VLADDER_KEY"] = str(folder / "ledger.key")
        with on_servers(folder) if options.servers else on_disk(folder) as place:
            recovered, found = strike(
                place, seconds=60 * options.minutes, blows=options.blows, seed=options.seed,
                ranks=options.ranks, hosts=options.hosts, only=options.fault,
            )  # fmt: skip
        print(table(recovered, found))
    sys.exit(0 if found.is_clean else 1)


if __name__ == "__main__":
    main()
