"""The doctor: looks at everything that must work, and says what to do where it does not."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.private import is_open_to_others
from verifier_ladder.text import hide_password

if TYPE_CHECKING:
    from verifier_ladder.ledger.base import Ledger
    from verifier_ladder.ledger.records import Queued

PACKAGE = "verifier-ladder"
_OLDEST = (3, 11)
_DEVELOPERS = {"all", "demo", "dev", "docs", "servers", "test"}
_REQUIREMENT = re.compile(r"([\w.\-]+)[^;]*;.*extra == ['\"]([\w\-]+)['\"]")
_PROBE_SECONDS = 120.0
_SMALL_MEMORY, _SMALL_DISK = 2 * 2**30, 2**30
_LONG_WAIT = 60.0
"""Seconds after which a check that could go to work is taken to be left lying."""
_CLOCK_DIFFERENCE = 5.0
"""Seconds by which the clocks of this machine and of the ledger's server may differ."""


class State(StrEnum):
    """How one thing stands."""

    OK = "ok"
    WARN = "warn"
    """It works, but not all of it, or not well."""
    FAIL = "fail"
    """It does not work."""


class Finding(NamedTuple):
    """What the doctor found about one thing."""

    name: str
    state: State
    text: str
    advice: str = ""
    """What to do; empty if nothing."""


def examine(ledger: str) -> Iterator[Finding]:
    """Look at everything, the quick things first; nothing is changed and nothing is raised.

    Args:
        ledger: Where the ledger lies, or would lie.

    Example:
        >>> next(examine("ledger.db")).name
        'Python'
    """
    looks: Sequence[tuple[str, Callable[[], Iterator[Finding]]]] = (
        ("Python", _python),
        ("settings", _settings),
        ("machine", _machine),
        ("extras", _extras),
        ("plugins", _plugins),
        ("ledger", lambda: _ledger(ledger)),
        ("sandbox", sandbox_findings),
        ("compilers", compiler_findings),
        ("worker pool", _pool),
    )
    for name, look in looks:
        try:
            yield from look()
        except LadderError as error:
            yield Finding(name, State.FAIL, str(error))
        except Exception as error:  # noqa: BLE001 - a broken installation may raise anything
            text = f"{type(error).__name__}: {error}"
            yield Finding(name, State.FAIL, text, "reinstall verifier-ladder and its packages")


def _python() -> Iterator[Finding]:
    text = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.version_info < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        yield Finding("Python", State.FAIL, text, f"use Python {wanted} or newer")
    else:
        yield Finding("Python", State.OK, text)
    try:
        yield Finding(PACKAGE, State.OK, version(PACKAGE))
    except PackageNotFoundError:
        yield Finding(
            PACKAGE, State.WARN, "runs without being installed, so its plugins are not found",
            "pip install -e . in its clone",
        )  # fmt: skip


def _settings() -> Iterator[Finding]:
    from verifier_ladder.settings import load_settings, unknown_variables

    settings = load_settings()
    given = ", ".join(f"{k}={v}" for k, v in settings.model_dump(exclude_unset=True).items())
    unknown = unknown_variables(dict(os.environ))
    if unknown:
        text = f"nothing reads {', '.join(unknown)}"
        yield Finding("settings", State.WARN, text, "correct or unset the variable")
    else:
        yield Finding("settings", State.OK, hide_password(given) or "all at their defaults")


def _machine() -> Iterator[Finding]:
    import psutil

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("cores", State.OK, f"{cores} usable")
    free = psutil.virtual_memory().available
    small = free < _SMALL_MEMORY
    yield Finding(
        "memory", State.WARN if small else State.OK, f"{free / 2**30:.1f} GiB free",
        "lower VLADDER_WORKERS, or free some; costly verifiers need it" if small else "",
    )  # fmt: skip


def _extras() -> Iterator[Finding]:
    try:
        listed = requires(PACKAGE) or []
    except PackageNotFoundError:
        return
    packages: dict[str, list[str]] = {
        extra: [] for extra in metadata(PACKAGE).get_all("Provides-Extra") or ()
    }
    for requirement in listed:
        match = _REQUIREMENT.match(requirement)
        if match and match[1] != PACKAGE:
            packages.setdefault(match[2], []).append(match[1])
    for extra, names in sorted(packages.items()):
        if extra not in _DEVELOPERS and names:
            yield _extra(extra, names)


def _extra(extra: str, packages: Sequence[str]) -> Finding:
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if not missing:
        return Finding(f"extra {extra}", State.OK, ", ".join(found))
    return Finding(
        f"extra {extra}", State.WARN, f"not installed: {', '.join(missing)}",
        f"if you need it: pip install '.[{extra}]' in a clone",
    )  # fmt: skip


def _plugins() -> Iterator[Finding]:
    from verifier_ladder.registry import REGISTRY

    problems = REGISTRY.problems()
    for problem in problems:
        advice = f"install what {problem.package} needs, or remove it"
        yield Finding(f"plugin {problem.name}", State.WARN, problem.error, advice)
    good = len(REGISTRY.names()) - len({problem.name for problem in problems})
    yield Finding("verifiers", State.OK, f"{good} can be loaded; `vladder verifier ls` lists them")


def _ledger(place: str) -> Iterator[Finding]:
    from verifier_ladder.ledger.opening import open_evidence

    path = Path(place.removeprefix("sqlite:///"))
    is_file = "://" not in place.removeprefix("sqlite:///")
    if is_file and not path.exists():
        yield _new_ledger(path)
        return
    with open_evidence(place) as ledger:
        campaigns = len(ledger.campaigns())
        entries = ledger.newest()
        ahead = ledger.clock() - time()
        queued = ledger.queued(now=ledger.clock())
        unsigned = list(_unsigned(ledger))
    shown = place if is_file else ledger.url
    yield Finding("ledger", State.OK, f"{shown} opens: {entries:,} entries, {campaigns} campaigns")
    yield from map(_left, (group for group in queued if group.longest > _LONG_WAIT))
    yield from unsigned
    if is_file:
        yield from _writable(path)
        yield from _private(path)
        yield from _disk(path)
    elif abs(ahead) > _CLOCK_DIFFERENCE:
        text = f"this machine's clock and the server's differ by {abs(ahead):.0f} s"
        yield Finding("clock", State.WARN, text, "leases go by the server's; set both by NTP")


def _unsigned(ledger: Ledger) -> Iterator[Finding]:
    """Look whether entries wait for the signed log, or would."""
    from verifier_ladder.ledger.log import SqlLog

    if not isinstance(ledger, SqlLog):
        return
    count, first = ledger.waiting()
    waits = f"{count:,} entries wait for their place in it" if count else "none can get a place"
    try:
        ledger.check_signable()
    except LadderError as error:
        yield Finding("signed log", State.FAIL, f"{waits}: {error}")
        return
    if count and (since := ledger.clock() - first) > _LONG_WAIT:
        yield Finding(
            "signed log", State.WARN, f"{waits}, one of them for {since:.0f} s",
            "open a campaign of this ledger: it signs for them, or its log says why it can't",
        )  # fmt: skip


def _writable(path: Path) -> Iterator[Finding]:
    """Look whether a campaign could write there."""
    from verifier_ladder.ledger.place import check_place

    try:
        check_place(path)
    except ConfigError as error:
        yield Finding("place", State.FAIL, str(error))


def _left(group: Queued) -> Finding:
    """Checks that nobody takes: their campaign is closed, and no worker holds their verifier."""
    return Finding(
        "queue", State.WARN,
        f"{group.checks} checks of {group.verifier} {group.version}, made as "
        f"{group.digest.hex()[:12]}, wait for a worker, one of them for {group.longest:.0f} s",
        "open the campaign that asked for them, or start a worker that holds this verifier with "
        f"the same settings; `vladder check ls --verifier {group.verifier}` lists them",
    )  # fmt: skip


def _private(path: Path) -> Iterator[Finding]:
    """Look whether others can read the ledger, or what lies beside it and is secret."""
    names = (path.name, *(f"{path.name}{ending}" for ending in (".key", ".key.signed", ".tokens")))
    open_ones = [
        name
        for name in names
        if (found := path.with_name(name)).exists() and is_open_to_others(found)
    ]
    if open_ones:
        yield Finding(
            "permissions",
            State.WARN,
            f"others on this machine may read or write {', '.join(open_ones)}; new ones are made "
            "for their owner alone",
            f"chmod 600 {' '.join(str(path.with_name(name)) for name in open_ones)}",
        )


def _disk(path: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(path.parent).free
    if free < _SMALL_DISK:
        text = f"{free / 2**20:.0f} MiB free beside the ledger"
        yield Finding("disk", State.WARN, text, "free some space: a full disk stops the campaign")


def _new_ledger(path: Path) -> Finding:
    parent = path.absolute().parent
    if parent.is_dir() and os.access(parent, os.W_OK):
        return Finding("ledger", State.OK, f"none at {path} yet; it can be made there")
    return Finding(
        "ledger", State.FAIL, f"none at {path}, and {parent} can't be written to",
        "make the folder, or name another place with --ledger or VLADDER_LEDGER",
    )  # fmt: skip


def sandbox_findings() -> Iterator[Finding]:
    """Look whether hostile programs can be run here, and are held."""
    from verifier_ladder.settings import load_settings
    from verifier_ladder.tiers.sandbox import Sandbox
    from verifier_ladder.tiers.sandbox.backend import FILES, INSTALL, allowed, chosen
    from verifier_ladder.tiers.sandbox.controls import controls

    setting = f"VLADDER_SANDBOX={load_settings().sandbox}"
    reasons = {backend.kind: backend.problem() for backend in allowed()}
    if all(reasons.values()):
        why = "; ".join(f"{kind}: {reason}" for kind, reason in reasons.items())
        text = f"none works here, so nothing can be run that a model wrote: {why} ({setting})"
        yield Finding("sandbox", State.WARN, text, INSTALL)
        return
    with Sandbox(backend=chosen()) as sandbox:
        name = f"{sandbox.name} ({setting})"
        shown = list(controls(sandbox))
        has_files = sandbox.gives(FILES)
    broken = [f"{control.name} ({control.text})" for control in shown if not control.held]
    if broken:
        text = f"{name} does not hold: {', '.join(broken)}"
        yield Finding("sandbox", State.FAIL, text, "run nothing in it that a model wrote")
        return
    stopped = ", ".join(control.name for control in shown[1:])
    text = f"{name} runs {shown[0].name} and stops: {stopped}"
    if not has_files:
        yield Finding("sandbox", State.WARN, f"{text}; no files can be written in it", INSTALL)
    else:
        yield Finding("sandbox", State.OK, text)


def compiler_findings() -> Iterator[Finding]:
    """Look whether programs in languages that are compiled can be judged here."""
    from verifier_ladder.tiers.sandbox.backend import FILES, INSTALL, chosen
    from verifier_ladder.tiers.sandbox.language import LANGUAGES, MISSING

    has_files = chosen().gives(FILES)
    for language in LANGUAGES.values():
        if not language.compiler:
            continue
        found, name = language.installed(), f"compiler {language.name}"
        if found == MISSING:
            text = f"{language.compiler[0]} is {MISSING}, so no such program can be judged"
            yield Finding(name, State.WARN, text, f"if you need it: {language.install}")
        elif not has_files:
            text = f"{found}, but nothing can be compiled in a sandbox without files"
            yield Finding(name, State.WARN, text, INSTALL)
        else:
            yield Finding(name, State.OK, found)


def _probe(candidate: Candidate) -> float:
    """A verifier that dies where it is told to."""
    if candidate.content == "crash":
        os._exit(7)
    return 1.0


def _pool() -> Iterator[Finding]:
    from verifier_ladder.function import FunctionVerifier
    from verifier_ladder.scheduler.engines.pool import WorkerPool

    probe = FunctionVerifier(_probe, name="doctor-probe", version="1", timeout=30.0)
    contents = ("before", "crash", "after")
    with WorkerPool(1, name="doctor") as pool:
        asked = pool.verify(probe, [Candidate("text", content) for content in contents])
        verdicts: list[Any] = asked.result(timeout=_PROBE_SECONDS).verdicts
    scores = [verdict.score for verdict in verdicts]
    if scores == [1.0, None, 1.0]:
        yield Finding("worker pool", State.OK, "starts, and a crash costs only its own candidate")
        return
    reasons = "; ".join(verdict.reason for verdict in verdicts if verdict.reason)
    yield Finding(
        "worker pool", State.FAIL, f"answered {scores} to a probe: {reasons}",
        "check the limits on processes and memory (ulimit -a), and that /tmp and /dev/shm exist",
    )  # fmt: skip
