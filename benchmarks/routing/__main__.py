"""The routing benchmark: real tables behind verifiers that charge what their checks cost.

Run: `make bench-routing`, or with `benchmarks` on the path `python -m routing [--quick]`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from time import perf_counter

from routing import speed
from routing.plan import Plan
from routing.report import lines
from routing.results import Results, note
from routing.runner import carry_out, manifests, tables

from verifier_ladder.errors import ConfigError

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_QUICK = Plan(seeds=1, updates=20, shares=(0.1,), costs=(0.085,), passes=2)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="routing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short runs")
    parser.add_argument("--data", type=Path, default=_DATA, help="folder of the tables")
    parser.add_argument(
        "--out", type=Path,
        help="folder for the report, the runs and pictures; runs in it are not made again",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, help="runs of everything")
    parser.add_argument("--only", nargs="*", default=(), help="experiments to run")
    parser.add_argument("--tables", nargs="*", help="names of the tables to use")
    parser.add_argument(
        "--manifest", type=Path, nargs="*", default=(), help="manifests of further tables"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def runs_before(folder: Path, plan: Plan) -> Results:
    """The runs that a folder holds.

    Raises:
        ConfigError: If they were shorter or longer than those of the plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scale = json.dumps({"updates": plan.updates, "passes": plan.passes})
    said = folder / "plan.json"
    if not said.exists():
        said.write_text(scale, encoding="utf-8")
    elif said.read_text(encoding="utf-8") != scale:
        raise ConfigError(f"{folder} holds runs of another length; give --out another folder")
    return Results.load(folder / "runs.jsonl")


def main() -> None:
    """Run everything, and print and write what it comes to."""
    told = options()
    plan = _QUICK if told.quick else Plan()
    plan = plan._replace(only=tuple(told.only), seeds=told.seeds or plan.seeds)
    started = perf_counter()
    found = [m for m in manifests(told.manifest) if not told.tables or m.name in told.tables]
    loaded = tables(found, told.data)
    for table in loaded:
        if table.left_out:
            all_rows = len(table) + table.left_out
            said = f"{table.left_out} of {all_rows} rows lack a number and are left out"
            print(f"table {table.name}: {said}", file=sys.stderr)
    runs = list(plan.runs(loaded))
    before = Results() if told.out is None else runs_before(told.out, plan)
    results = Results({run: before.numbers[run] for run in runs if run in before.numbers})
    missing = [run for run in runs if run not in before.numbers]
    for run, numbers in carry_out(missing, loaded, plan, told.jobs):
        results.add(run, numbers)
        if told.out is not None:
            note(told.out / "runs.jsonl", run, numbers)
        print(f"\r{len(results.numbers)} of {len(runs)} runs", end="", file=sys.stderr)
    text = "\n".join(lines(results))
    if not plan.only or "speed" in plan.only:
        text += "\n" + "\n".join(speed.lines(3 if told.quick else 15))
    print(f"\n{text}\n\n{len(runs)} runs in {perf_counter() - started:.0f} s")
    if told.out is not None:
        from routing.pictures import draw

        (told.out / "report.md").write_text(text + "\n", encoding="utf-8")
        draw(results, told.out)


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(str(error))
