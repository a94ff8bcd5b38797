"""Homes: the one place on a machine where a ledger's checks are run.

The first process that opens a ledger becomes its home: it holds a lock that the kernel frees
when the process dies, runs the workers, and listens on a local socket. Every other process on
the machine attaches to it. When the home dies, one of those attached takes its place; calls
that were under way are made again, and what had been verified is answered from the ledger.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import shutil
import socket
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from threading import RLock, Thread
from time import sleep
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

import cloudpickle

from verifier_ladder.alerts.alerter import Alerter, Alerts
from verifier_ladder.alerts.rules import rules_as_set
from verifier_ladder.containment import words_of
from verifier_ladder.errors import ConfigError, EngineError, LadderError
from verifier_ladder.forks import not_in_child
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.ledger.sequencer import Sequencer
from verifier_ladder.private import open_shared, own_folder
from verifier_ladder.scheduler.conductor import Conductor
from verifier_ladder.scheduler.engines.lane import PoolClosed
from verifier_ladder.scheduler.engines.local import OURS, LocalEngine
from verifier_ladder.scheduler.withdrawal import Wanted
from verifier_ladder.settings import load_settings
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.relay import Relay

CALLS = frozenset({
    "score", "submit", "drain", "answers", "wake", "take_step", "expect", "import_rows",
    "withdraw", "supersede",
})  # fmt: skip
"""What an attached process may ask of a conductor."""
HELLO = b"home"
"""What a home says first, so that whoever attaches knows that it is alive."""
_PAUSE = 0.1
"""Seconds until the next try, after somebody could not be let in: descriptors may be short."""
_PEER = struct.Struct("3i")
"""What the kernel says of a peer: process, user, group."""
_LONGEST_FOLDER = 60
"""Characters of the folder for temporary files that leave room for a socket's name: its whole
path may have about a hundred."""


def lock_of(url: str) -> Path:
    """The lock file of a ledger on this machine; its text is the home's address.

    It lies beside a ledger file. For a ledger on a server it lies in a folder of the user's.

    Raises:
        ConfigError: If somebody else could write to that folder.
    """
    path = url.removeprefix("sqlite:///")
    if path != url:
        return Path(f"{path}.lock")
    return own_folder("homes") / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.lock"


def address_of(url: str) -> str:
    """Where the home of a ledger listens.

    Raises:
        OSError: If there is none yet.
    """
    address = lock_of(url).read_text()
    if not address:
        raise ConnectionRefusedError("its process is just starting")
    return address


def is_same_user(descriptor: int) -> bool:
    """Whether the process at the other end of a local socket is this user's.

    What comes from there is unpickled, so it is trusted. Who owns the file says less: a name can
    be put in the place of another one between the look and the connection.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # The folder's mode has to do.
    with socket.socket(fileno=os.dup(descriptor)) as peer:
        told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, user, _ = _PEER.unpack(told)
    return bool(user == os.geteuid())


class HomeClosed(EngineError):  # noqa: N818 - what happened, not what went wrong
    """The last user of a home has left; find the next home."""


class Home:
    """Conductors of one ledger, in the process that runs its checks."""

    def __init__(
        self,
        ledger: Ledger,
        lock: IO[str] | None = None,
        *,
        workers: int | None = None,
        memory: int | None = None,
        engine: str = "local",
    ) -> None:
        """Run the checks of a ledger in this process.

        Args:
            ledger: The ledger; closed with the home if there is a lock.
            lock: The held lock file; None for a ledger that no other process can open.
            workers: Worker processes; one per core by default.
            memory: Bytes that one worker may use.
            engine: `local`; `workers` if other processes run the dearer tiers; `celery` if they
                are also told so.
        """
        rules = rules_as_set() if lock is not None else None  # Nothing runs yet.
        self._alerts = Alerts(ledger, rules)
        self.ledger = ledger
        self.engine = LocalEngine(
            ledger, workers=workers, memory=memory,
            tiers=tuple(Tier) if engine == "local" else OURS,
            relay=_relay(ledger) if engine == "celery" else None,
        )  # fmt: skip
        self._lock_file = lock
        self._lock = RLock()
        self._conductors: dict[str, Conductor] = {}
        self._users: dict[str, int] = {}
        self._runs: dict[tuple[str, str], int] = {}
        self._listener: socket.socket | None = None
        self._folder: Callable[[], object] | None = None
        """Removes the folder of the socket."""
        self.is_over = False
        """Whether the last user has left, so that nobody can join any more."""
        self._sequencer: Sequencer | None = None
        self._alerter: Alerter | None = None
        if lock is not None:
            self.engine.take_over()
            self._listen(lock)
            self._sequencer = Sequencer(ledger)
            if rules is not None:
                self._begin_alerts()

    # -- conductors ----------------------------------------------------------------------------

    def conductor(self, name: str, ladder: Ladder) -> Conductor:
        """Open a campaign, or join it if it is open; pair each call with `leave`.

        Raises:
            ConfigError: If the campaign exists with another ladder, or is open on another
                machine.
            HomeClosed: If the last user has left just now.
        """
        with self._lock:
            if self.is_over:
                raise HomeClosed("everybody has left this home")
            made = self._conductors.get(name)
            if made is None:
                seed = agreed_seed(self.ledger, name, ladder)
                made = Conductor(name, ladder, self.ledger, self.engine, seed)
                self._start(made)
                self._conductors[name] = made
            elif (made.ladder.digest, made.ladder.namespace) != (ladder.digest, ladder.namespace):
                raise ConfigError(
                    f"campaign {name!r} is open with another ladder or in another namespace; "
                    "choose another name"
                )
            self._users[name] = self._users.get(name, 0) + 1
            return made

    def _start(self, made: Conductor) -> None:
        """Start a conductor; its ladder's own receivers are told until this home is closed."""
        has_rules = self._lock_file is not None and self._alerts.watch(made.name, made.ladder)
        try:
            made.start()
        except BaseException:
            self._alerts.forget(made.name)
            raise
        if has_rules:
            self._begin_alerts()

    def _begin_alerts(self) -> None:
        with self._lock:
            if self._alerter is None:
                self._alerter = Alerter(self._alerts)

    def leave(self, name: str) -> bool:
        """Stop using a campaign; True if nobody uses this home any more."""
        with self._lock:
            self._users[name] -= 1
            if self._users[name] == 0:
                del self._users[name]
                self._conductors.pop(name).close()
            return self.end_if_unused()

    def end_if_unused(self) -> bool:
        """Let nobody join any more if nobody is here; True if so, and it is to be closed."""
        with self._lock:
            self.is_over = not self._users
            return self.is_over

    def close(self) -> None:
        """Give running work back, stop the workers, free the lock."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # Wakes the thread that accepts.
            self._listener.close()
        self.engine.close()
        if self._alerter is not None:
            self._alerter.close()
        if self._sequencer is not None:
            self._sequencer.close()
        if self._lock_file is not None:
            self.ledger.close()
            self._lock_file.truncate(0)
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)  # A child of native code may hold it too.
            self._lock_file.close()
        if self._folder is not None:
            self._folder()

    # -- the socket ----------------------------------------------------------------------------

    def _listen(self, lock: IO[str]) -> None:
        # A path of its own, private to the user: one beside the ledger may be too long.
        folder = None if len(tempfile.gettempdir()) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108
        folder = tempfile.mkdtemp(prefix="verifier-ladder-", dir=folder)
        self._folder = finalize(self, _remove, folder, os.getpid())
        address = f"{folder}/home"
        self._listener = not_in_child(socket.socket(socket.AF_UNIX))
        self._listener.bind(address)
        self._listener.listen(64)
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        Thread(target=self._accept, args=(self._listener,), name="vl-home", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while listener.fileno() >= 0:
            try:
                self._let_in(listener)
            except (OSError, RuntimeError):  # No descriptors, or no threads, for the moment.
                sleep(_PAUSE)

    def _let_in(self, listener: socket.socket) -> None:
        """Serve the next process; one that can't be served is not left waiting."""
        peer, _ = listener.accept()
        with peer:
            if is_same_user(peer.fileno()):
                connection = not_in_child(Connection(peer.detach()))
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        """Answer one attached process until it goes away."""
        with suppress(EOFError, OSError), ExitStack() as inside, connection:
            connection.send_bytes(HELLO)
            name, ladder, run = connection.recv()

            def join() -> Conductor:
                return inside.enter_context(self._joined(name, cloudpickle.loads(ladder), run))

            conductor = _reply(connection, join, say=False)
            while conductor is not None:
                # Nothing here names a message: it may be long, and long until the next one.
                _reply(connection, partial(_called, conductor, connection.recv_bytes()))

    @contextmanager
    def _joined(self, name: str, ladder: Ladder, run: str | None) -> Iterator[Conductor]:
        """Use a campaign for an attached process; the last one to leave closes the home."""
        conductor = self.conductor(name, ladder)
        try:
            self._count(name, run, 1)
            yield conductor
        finally:
            with suppress(LadderError):
                self._count(name, run, -1)
            with suppress(LadderError):
                if self.leave(name):
                    self.close()

    def _count(self, name: str, run: str | None, change: int) -> None:
        """Count the connections of a run that is cancelled when its last one breaks."""
        if run is None:
            return
        with self._lock:
            self._runs[name, run] = self._runs.get((name, run), 0) + change
            is_gone = not self._runs[name, run]
            conductor = self._conductors[name]
        if is_gone:
            conductor.withdraw(Wanted(run), at_work=False)


def _relay(ledger: Ledger) -> Relay:
    """What rings for worker hosts over the broker of the settings."""
    broker = load_settings().broker
    if not broker:
        raise ConfigError(
            'engine="celery" needs a broker; set VLADDER_BROKER, such as redis://host/0'
        )
    try:
        from verifier_ladder.scheduler.engines.bell import Bell
        from verifier_ladder.scheduler.engines.relay import Relay
    except ImportError as error:
        raise ConfigError(
            f"the engine celery needs {error.name}: pip install '.[distributed]' in a clone"
        ) from error
    return Relay(ledger, Bell(broker))


def _called(conductor: Conductor, message: bytes) -> Any:
    """Make the call that an attached process asks for."""
    method, arguments = pickle.loads(message)  # noqa: S301 - from a process of the same user
    if method not in CALLS:
        raise EngineError(f"a conductor has no call {method!r} for other processes")
    return getattr(conductor, method)(*arguments)


def _reply(connection: Connection[Any, Any], call: Callable[[], Any], *, say: bool = True) -> Any:
    """Make a call and send what came of it; an error is sent as its type and its text."""
    try:
        result = call()
        message = ForkingPickler.dumps((True, result if say else None))
    except (HomeClosed, PoolClosed) as error:
        # This home ends: the caller finds the next home when its connection breaks.
        raise EOFError(str(error)) from error
    except BaseException as error:  # noqa: BLE001 - it belongs to the caller's process
        # Its own words don't say where to look, unless it is ours.
        where = "" if isinstance(error, LadderError) else traceback.format_exc()
        connection.send((False, (type(error).__name__, words_of(error), where)))
        return None
    connection.send_bytes(message)
    return result


def _remove(folder: str, pid: int) -> None:
    """Remove the folder of a socket; a forked child that ends leaves it to its parent."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def agreed_seed(ledger: Ledger, name: str, ladder: Ladder) -> bytes:
    """Record a campaign, or check that it is the same as recorded; gives its secret seed.

    Raises:
        ConfigError: If it was recorded with another ladder, or in another namespace.
    """
    spec = {**ladder.as_json(), "seed": os.urandom(16).hex()}
    if ladder.namespace:
        spec["namespace"] = ladder.namespace
    row = ledger.open_campaign(name, spec, ladder.digest)
    if namespace_of(row) != ladder.namespace:
        raise ConfigError(
            f"campaign {name!r} is in the cache namespace {namespace_of(row)!r} and can't be "
            f"opened in {ladder.namespace!r}; leave the namespace out, or choose another name"
        )
    if row.ladder_digest != ladder.digest:
        raise ConfigError(
            f"campaign {name!r} was opened with another ladder ({_difference(row.ladder, spec)}); "
            "choose another name, so that its rewards stay comparable"
        )
    return bytes.fromhex(str(row.ladder["seed"]))


def namespace_of(row: CampaignRow) -> str:
    """The cache namespace of a recorded campaign; "" is the default one."""
    return str(row.ladder.get("namespace", ""))


def _difference(old: Any, new: Any) -> str:
    boxes = [{v.get("sandbox") for v in spec.get("verifiers", ())} - {None} for spec in (old, new)]
    if boxes[0] != boxes[1] and all(boxes):
        then, now = (" and ".join(sorted(map(str, each))) for each in boxes)
        kind = then.partition("/")[0]
        return f"its sandbox was {then} and is {now} here: set VLADDER_SANDBOX={kind} to go on"
    keys = [k for k in new if k not in ("seed", "budget") and old.get(k) != _plain(new[k])]
    return f"its {' and '.join(keys)} changed" if keys else "its settings changed"


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def become_home(ledger: Ledger, **options: Any) -> Home | None:
    """Take a ledger's lock and run its checks here; None if another process does so."""
    file = not_in_child(open_shared(lock_of(ledger.url)))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    store = ledger.reopened()
    try:
        return Home(store, file, **options)
    except BaseException:
        store.close()
        file.close()  # Others may try.
        raise
