"""`vladder worker`: run checks for campaigns of other processes and machines."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.cli import options, output
from verifier_ladder.cli.code import Imported, hold, import_all
from verifier_ladder.cli.opening import ledger_place
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.engines.host import WorkerHost

app = output.Noun(help="Run checks for other processes' campaigns.")
_GRACE = "30 s"


@app.command("start")
def start(
    *,
    ledger: options.LedgerAt = None,
    tiers: Annotated[
        list[str] | None,
        typer.Option("--tier", help="A tier to run; may be repeated. [default: those between]"),
    ] = None,
    verifiers: Annotated[
        list[str] | None,
        typer.Option("--verifier", help="A verifier to run; may be repeated. [default: all]"),
    ] = None,
    resources: Annotated[
        list[str] | None,
        typer.Option("--resource", help="cpu, gpu or memory: what the checks to run want."),
    ] = None,
    broker: Annotated[
        str | None,
        typer.Option("--broker", help="Listen to Celery. [default: VLADDER_BROKER]"),
    ] = None,
    imports: Imported = None,
    ladders: Annotated[
        list[Path] | None,
        typer.Option(
            "--ladder", help="A ladder in TOML whose verifiers to hold; may be repeated."
        ),
    ] = None,
    workers: options.Workers = None,
    walltime: Annotated[
        str | None,
        typer.Option("--walltime", help="How long this process may live, such as '2 h'."),
    ] = None,
    grace: Annotated[
        str, typer.Option("--grace", help="How long running checks are given at the end.")
    ] = _GRACE,
    until_walltime: Annotated[
        bool,
        typer.Option("--until-walltime", help="Live as long as the Slurm job, less the grace."),
    ] = False,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when there is nothing left to do.")
    ] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            min=0,
            max=65535,
            help="Answer /metrics at this port of this machine. [default: VLADDER_METRICS_PORT]",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run queued checks until a signal or the end of time.

    SIGTERM and Ctrl-C end it, and the wall time if one is given.

    It runs verifiers that it holds: of installed packages, of --import and of --ladder. What the
    ledger says of a verifier only selects one of them, and makes none.

    At the end nothing new is begun, running checks are given the grace, and what takes longer is
    queued again for others.
    """
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import open_ledger
    from verifier_ladder.scheduler.engines.catalog import Catalog
    from verifier_ladder.scheduler.engines.host import TIERS, WorkerHost
    from verifier_ladder.settings import load_settings
    from verifier_ladder.tier import Tier

    import_all(imports)
    hold(Ladder.from_toml(path) for path in ladders or [])
    wanted = _resources(resources)
    _check_verifiers(verifiers)
    settings, patience = load_settings(), seconds(grace)
    lifetime = _lifetime(walltime, patience, is_slurm=until_walltime)
    with open_ledger(
        ledger_place(ledger), wait=True
    ) as store:  # It may be here before any campaign.
        bell = broker or settings.broker
        host = WorkerHost(
            store, workers=workers or settings.workers, memory=settings.worker_memory,
            tiers=[Tier.parse(tier) for tier in tiers] if tiers else TIERS,
            catalog=Catalog(store, names=verifiers, resources=wanted),
            longest_look=30.0 if bell else 2.0,
        )  # fmt: skip
        _tell(store, settings.metrics_port if metrics_port is None else metrics_port)
        over = _until_signal()
        _begin(host)
        if bell:
            _listen(host, bell, wanted)
        if until_idle:
            Thread(target=_tell_idle, args=(host, over), daemon=True).start()
        over.wait(lifetime)
        host.leave(patience)
    if as_json:
        output.print_json({
            "owner": host.owner, "done": host.done, "refused": host.refused,
            "missing": host.catalog.missing,
        })  # fmt: skip
    else:
        if host.refused:
            output.say(f"{host.refused} refused: their rows in the queue had been changed")
        output.say(f"{host.done} checks done")


def _resources(given: list[str] | None) -> list[str] | None:
    from verifier_ladder.scheduler.engines.catalog import RESOURCES

    for name in given or []:
        if name not in RESOURCES:
            raise ConfigError(f"no resource is called {name!r}; there is {', '.join(RESOURCES)}")
    return given


def _check_verifiers(given: list[str] | None) -> None:
    """Refuse verifiers that are not held here."""
    from verifier_ladder.registry import REGISTRY

    for name in given or []:
        if name not in REGISTRY.names():
            raise ConfigError(
                f"no verifier is called {name!r} here; give its code with --import or --ladder"
            )


def _tell(ledger: Ledger, port: int | None) -> None:
    """Begin telemetry as it was asked for."""
    from verifier_ladder import telemetry

    telemetry.begin_as_set()
    if port is not None:
        if telemetry.active is None:
            telemetry.begin(["metrics"])
        from verifier_ladder.telemetry.collector import serve_metrics

        host, port = serve_metrics(ledger, port)
        output.say(f"metrics: http://{host}:{port}/metrics")


def _begin(host: WorkerHost) -> None:
    """Go to work, and say on what."""
    host.catalog.refresh()
    names = ", ".join(f"{v.name} {v.version}" for v in host.catalog.verifiers) or "nothing yet"
    tiers = " and ".join(tier.label for tier in host.tiers)
    output.say(f"worker {host.owner}: {host.workers} at once, {tiers}; runs {names}")
    for why in host.catalog.missing.values():
        output.say(f"left to others: {why}")
    host.take_over()
    host.wake()


def _listen(host: WorkerHost, broker: str, resources: list[str] | None) -> None:
    """Have Celery's messages wake the host, in the background until the process ends."""
    from verifier_ladder.scheduler.engines.bell import queues_for
    from verifier_ladder.scheduler.engines.ear import Ear

    ear = Ear(broker, queues_for(host.tiers, resources), host.wait_room)
    Thread(target=ear.start, daemon=True).start()


def _tell_idle(host: WorkerHost, over: Event) -> None:
    host.wait_idle(None)
    over.set()


def _until_signal() -> Event:
    """An event that SIGTERM or Ctrl-C sets."""
    import signal

    over = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    return over


def _lifetime(walltime: str | None, grace: float, *, is_slurm: bool) -> float | None:
    """Seconds until the end is to begin; None to wait for a signal."""
    from time import time

    if walltime is not None:
        return max(0.0, seconds(walltime) - grace)
    if not is_slurm:
        return None
    end = os.environ.get("SLURM_JOB_END_TIME")
    if end is None or not end.isdigit():
        raise ConfigError(
            "--until-walltime reads SLURM_JOB_END_TIME, which is not set; outside of a Slurm job "
            "give --walltime, such as --walltime '2 h'"
        )
    return max(0.0, float(end) - time() - grace)
