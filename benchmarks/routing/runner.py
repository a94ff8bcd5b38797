"""The runner: carries out runs, in several processes if asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from routing.manifest import Manifest, read_manifest
from routing.measures import Numbers, measure
from routing.plan import Plan, Run
from routing.table import Table, load

MANIFESTS = Path(__file__).parent / "tables"
_tables: dict[str, Table] = {}


def manifests(extra: Sequence[Path]) -> list[Manifest]:
    """The manifests of this folder, and others."""
    return [read_manifest(path) for path in (*sorted(MANIFESTS.glob("*.toml")), *extra)]


def tables(found: Sequence[Manifest], folder: Path) -> list[Table]:
    """The tables of manifests."""
    return [load(manifest, folder) for manifest in found]


def carry_out(
    runs: Sequence[Run], loaded: Sequence[Table], plan: Plan, jobs: int
) -> Iterator[tuple[Run, Numbers]]:
    """Carry out runs; each is given as soon as it is done."""
    _remember(loaded)
    if jobs == 1:
        for run in runs:
            yield run, _one(run, plan)
        return
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_remember, initargs=(loaded,)
    )
    with pool:
        waiting = {pool.submit(_one, run, plan): run for run in runs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _remember(loaded: Sequence[Table]) -> None:
    _tables.update({table.name: table for table in loaded})


def _one(run: Run, plan: Plan) -> Numbers:
    return measure(run, _tables[run.table], plan)
