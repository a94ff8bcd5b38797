"""The routing benchmark: real tables behind verifiers that charge what their checks cost.

Run: `make bench-routing`, or with `benchmarks` on the path `python -m routing [--quick]`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

from routing import speed
from routing.plan import Plan
from routing.report import lines
from routing.results import Results
from routing.runner import carry_out, manifests, tables

from verifier_ladder.errors import ConfigError

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_QUICK = Plan(seeds=1, updates=20, shares=(0.1,), costs=(0.085,), passes=2)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="routing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short runs")
    parser.add_argument("--data", type=Path, default=_DATA, help="folder of the tables")
    parser.add_argument("--out", type=Path, help="folder for the report, the runs and pictures")
    parser.add_argument("--seeds", type=int, help="runs of everything")
    parser.add_argument("--only", nargs="*", default=(), help="experiments to run")
    parser.add_argument("--tables", nargs="*", help="names of the tables to use")
    parser.add_argument(
        "--manifest", type=Path, nargs="*", default=(), help="manifests of further tables"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> None:
    """Run everything, and print and write what it comes to."""
    told = options()
    plan = _QUICK if told.quick else Plan()
    plan = plan._replace(only=tuple(told.only), seeds=told.seeds or plan.seeds)
    started = perf_counter()
    found = [m for m in manifests(told.manifest) if not told.tables or m.name in told.tables]
    loaded = tables(found, told.data)
    runs = list(plan.runs(loaded))
    results = Results()
    for run, numbers in carry_out(runs, loaded, plan, told.jobs):
        results.add(run, numbers)
        print(f"\r{len(results.numbers)} of {len(runs)} runs", end="", file=sys.stderr)
    text = "\n".join(lines(results))
    if not plan.only or "speed" in plan.only:
        text += "\n" + "\n".join(speed.lines(3 if told.quick else 15))
    print(f"\n{text}\n\n{len(runs)} runs in {perf_counter() - started:.0f} s")
    if told.out is not None:
        from routing.pictures import draw

        told.out.mkdir(parents=True, exist_ok=True)
        (told.out / "report.md").write_text(text + "\n", encoding="utf-8")
        results.save(told.out / "runs.jsonl")
        draw(results, told.out)


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(str(error))
