"""Finding the engine of a ledger: in this process, in another one, or nowhere yet."""

from __future__ import annotations

import os
from threading import RLock
from time import monotonic, sleep
from typing import Any

from verifier_ladder.errors import LedgerError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.engines.home import Home, HomeClosed, agreed_seed, become_home
from verifier_ladder.scheduler.engines.remote import HomeLostError, RemoteConductor

_LOCK = RLock()
_HOMES: dict[tuple[int, str], Home] = {}
_PATIENCE = 60.0
"""Seconds to wait for a process that holds the lock and does not listen yet, or any more."""
_PAUSE = 0.02


def join(
    name: str, ladder: Ladder, ledger: Ledger, *, cancelled: str | None = None, **options: Any
) -> Conductor | RemoteConductor:
    """Open a campaign wherever its ledger is at home, here if nowhere yet.

    Args:
        name: The campaign.
        ladder: Its ladder.
        ledger: Its ledger.
        cancelled: The run that is cancelled when this process dies, if another one is the home.
        options: `workers`, `memory` and `engine`, for a home that starts here.

    Raises:
        ConfigError: If the campaign exists with another ladder, or is open on another machine.
        LedgerError: If the process that holds the ledger does not answer.
    """
    until = monotonic() + _PATIENCE
    while True:
        with _LOCK:
            home = _home(ledger, options)
            if home is not None:
                try:
                    return home.conductor(name, ladder)
                except HomeClosed:
                    pass  # Its last user leaves at this moment: find the next.
                except BaseException:
                    if home.end_if_unused():
                        _close(home, ledger)
                    raise
        agreed_seed(ledger, name, ladder)
        try:
            return RemoteConductor(ledger.url, name, ladder, cancelled=cancelled)
        except HomeLostError as error:
            if monotonic() > until:
                raise LedgerError(
                    f"another process holds {ledger.url} and does not answer ({error}); "
                    "end it, or wait until it is done"
                ) from None
        sleep(_PAUSE)


def _home(ledger: Ledger, options: dict[str, Any]) -> Home | None:
    key = _key(ledger)
    home = _HOMES.get(key)
    if home is None or home.is_over:
        if isinstance(ledger, MemoryLedger):
            home = Home(ledger, **options)
        else:
            home = become_home(ledger, **options)
        if home is not None:
            _HOMES[key] = home
        else:
            _HOMES.pop(key, None)
    return home


def leave(name: str, ledger: Ledger, conductor: Conductor | RemoteConductor) -> None:
    """Close a campaign; the last one to leave closes the home."""
    if isinstance(conductor, RemoteConductor):
        conductor.close()
        return
    with _LOCK:
        home = _HOMES.get(_key(ledger))
        if home is not None and home.leave(name):
            _close(home, ledger)


def _close(home: Home, ledger: Ledger) -> None:
    _HOMES.pop(_key(ledger), None)
    home.close()


def _key(ledger: Ledger) -> tuple[int, str]:
    """Homes are found by process and ledger: a forked child has none of its parent's."""
    url = f"memory:{id(ledger)}" if isinstance(ledger, MemoryLedger) else ledger.url
    return os.getpid(), url
