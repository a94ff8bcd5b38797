"""Attaching: using a campaign whose checks another process of this machine runs."""

from __future__ import annotations

import builtins
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

import cloudpickle

from verifier_ladder import errors
from verifier_ladder.forks import not_in_child
from verifier_ladder.imports import ImportReport, ImportRow
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.baton import BatonLostError
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.engines.home import HELLO, address_of, is_same_user
from verifier_ladder.scheduler.scorer import Batch
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn

_CLASSES = {"BatonLostError": BatonLostError}
"""Errors of ours that stand beside what raises them."""

_PATIENCE = 15.0
"""Seconds that a home has to say that it is there; opening a campaign may take longer."""


class HomeLostError(ConnectionError):
    """The process that runs this ledger's checks went away."""


class RemoteConductor:
    """Makes a conductor's calls over the local socket, one connection per concurrent call.

    Raises `HomeLostError` from any call when the home has gone; the campaign then finds a new one.
    """

    def __init__(
        self, url: str, name: str, ladder: Ladder, *, cancelled: str | None = None
    ) -> None:
        """Attach to the home of a ledger.

        Args:
            url: The ledger.
            name: The campaign.
            ladder: Its ladder.
            cancelled: The run whose waiting samples the home withdraws when this process dies.

        Raises:
            HomeLostError: If nobody listens.
            ConfigError: If the campaign is open there with another ladder.
        """
        self._url, self._name = url, name
        self._ladder = cloudpickle.dumps(ladder)
        self._cancelled = cancelled
        self._lock = Lock()
        self._spare: list[Connection[Any, Any]] = [self._connect()]

    def _connect(self) -> Connection[Any, Any]:
        try:
            connection = _greeted(address_of(self._url))
            connection.send((self._name, self._ladder, self._cancelled))
            answer = connection.recv()
        except (OSError, EOFError) as error:
            raise HomeLostError(str(error)) from error
        _result(answer)
        return connection

    def _call(self, method: str, *arguments: Any) -> Any:
        with self._lock:
            connection = self._spare.pop() if self._spare else None
        connection = connection or self._connect()
        try:
            connection.send((method, arguments))
            answer = connection.recv()
        except (OSError, EOFError) as error:
            with suppress(OSError):
                connection.close()
            raise HomeLostError(str(error)) from error
        with self._lock:
            self._spare.append(connection)
        return _result(answer)

    def score(self, batch: Batch, deadline: float | None) -> list[Reward]:
        """Score one batch at the home."""
        return self._call("score", batch, deadline)  # type: ignore[no-any-return]

    def submit(self, batch: Batch) -> None:
        """Score one batch at the home, without waiting for higher tiers."""
        self._call("submit", batch)

    def drain(self, timeout: float | None) -> bool:
        """Wait until the home has nothing left to do by itself."""
        return self._call("drain", timeout)  # type: ignore[no-any-return]

    def answers(self, given: Mapping[bytes, tuple[object, str]], source: str) -> list[bool]:
        """Hand in results from the world."""
        return self._call("answers", given, source)  # type: ignore[no-any-return]

    def supersede(
        self, key: bytes, value: object, source: str, why: str, as_of: int | None = None
    ) -> bool:
        """Put an answer in the place of a wrong one, at the home."""
        return self._call("supersede", key, value, source, why, as_of)  # type: ignore[no-any-return]

    def import_rows(self, rows: Sequence[ImportRow], source: str) -> ImportReport:
        """Take old verdicts at the home."""
        return self._call("import_rows", rows, source)  # type: ignore[no-any-return]

    def take_step(self, run: str) -> int:
        """Take the next free step of a run, at the home."""
        return self._call("take_step", run)  # type: ignore[no-any-return]

    def expect(self, samples: int) -> None:
        """Say at the home how many samples there will be in all."""
        self._call("expect", samples)

    def wake(self) -> None:
        """Say that budgets or the queue have changed."""
        self._call("wake")

    def withdraw(
        self,
        wanted: Wanted,
        at_work: bool,  # noqa: FBT001 - it travels so
        is_checked: bool = False,  # noqa: FBT001, FBT002 - so does this
    ) -> Withdrawn:
        """End the climbs of samples at the home."""
        return self._call("withdraw", wanted, at_work, is_checked)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Detach."""
        with self._lock:
            for connection in self._spare:
                with suppress(OSError):
                    connection.close()
            self._spare = []


def _greeted(address: str) -> Connection[Any, Any]:
    """A connection to a home that is alive, and of the same user.

    Raises:
        OSError: If there is none; `EOFError` if it lets nobody in just now.
    """
    with socket.socket(socket.AF_UNIX) as home:
        home.settimeout(_PATIENCE)
        home.connect(address)
        if not is_same_user(home.fileno()):
            raise ConnectionRefusedError("its process belongs to another user")
        home.settimeout(None)
        connection: Connection[Any, Any] = not_in_child(Connection(home.detach()))
    if not connection.poll(_PATIENCE):
        raise TimeoutError(f"it has not said a word in {_PATIENCE:g} s")
    if connection.recv_bytes(len(HELLO)) != HELLO:
        raise ConnectionRefusedError("it runs another version of verifier-ladder")
    return connection


def _result(answer: tuple[bool, Any]) -> Any:
    """What came of a call; an error of the home's side is raised here.

    It is raised apart from the connection's own errors: a call whose verifier missed a file has
    not lost its home.
    """
    good, value = answer
    if not good:
        raise _error(*value)
    return value


def _error(name: str, text: str, where: str) -> Exception:
    """An error of the home's side, of the same class if that is ours or Python's own.

    Objects of other classes can't be sent for certain: their type and text are.
    """
    known = getattr(errors, name, None) or _CLASSES.get(name) or getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, Exception):
        with suppress(Exception):  # Some of Python's want more than a text.
            return _noted(known(text), where)
    return _noted(errors.EngineError(f"{name}: {text}"), where)


def _noted(error: Exception, where: str) -> Exception:
    if where:
        error.add_note(f"at the home of the ledger:\n{where}")
    return error
