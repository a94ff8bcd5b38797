"""Lanes: a thread and the worker process it owns, doing one job after another."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import cloudpickle

from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, EngineError, LadderError
from verifier_ladder.masking import Mask
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.scheduler.engines.blame import Answers, Case
from verifier_ladder.scheduler.engines.control import Controls, is_small
from verifier_ladder.scheduler.engines.job import Job
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.process import WorkerProcess
from verifier_ladder.scheduler.engines.watch import Failure, Watch

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.pool import WorkerPool

_STARTS = 3
"""Workers that may fail to start in a row before a job gives up."""
_LOADS = 2
"""Workers that may crash while they load a verifier before its job gives up."""
_BACK_OFF = 0.1
_LARGEST_BACK_OFF = 5.0
_ROUNDS = 8
_PATIENCE = 3.0
_AGAIN = "it asks for its code again and again"


T = TypeVar("T")


class Hearing(Generic[T]):
    """Reads a worker's journal, and tells a job's future what it finds."""

    def __init__(self, job: Job[T], group: Sequence[int], journal: Journal, mask: Mask) -> None:
        """Listen to a worker that is given these positions of a job, and hide its secrets."""
        self._job, self._group, self._journal, self._mask = job, group, journal, mask
        self._items: list[Any] = []
        self._whole = 0
        self._charged = self._least = 0.0
        """What answers are charged that were told of while the worker went on; and the least that
        all took which were there at the last look."""

    def look(self, took: float, least: float = 0.0) -> None:
        """Deliver what was there at the last look; what is newer may not be written whole.

        Args:
            took: Cpu-seconds that those who have answered took, also those who wait to be told.
            least: Cpu-seconds that they surely took, as the kernel tells.
        """
        whole, self._whole = self._whole, self._journal.count
        known, self._least = self._least, least
        start = len(self._items)
        if whole > start:
            share = max(0.0, took - self._charged) / (max(whole, self._whole) - start)
            said = self._said(start, whole, share * (whole - start), known - self._charged)
            self._charged += said.seconds
            group = self._group[start:whole]
            self._job.future.tell({group[place]: item for place, item in said.sound.items()})

    def ended(self, said: bytes, seconds: float, least: float) -> Answers[T]:
        """What it has said, now that it is done: in its journal and, after that, in its reply.

        Args:
            said: The reply.
            seconds: Cpu-seconds that it says it took.
            least: Those that it surely took, as the kernel tells.

        Raises:
            EngineError: If that is not one answer for each, with what they took. Whatever else is
                raised says that it can't be read.
        """
        asked = len(self._group)
        rest, costs = wire.read_rest(self._job.item, said, asked)
        self._catch_up(self._journal.count)
        items = self._items + rest
        if len(items) != asked or (costs is not None and len(costs) != asked):
            raise EngineError(f"{len(items)} answers for {asked} candidates")
        Cost(seconds)  # refuses what nobody can have spent
        costs = None if costs is None else _no_less(costs, least)
        return self._mask(self._job.read(self._group, items, costs, max(seconds, least)))

    def failed(self, failure: Failure, took: float) -> Answers[T]:
        """What it had said before it failed; the worker must be dead."""
        said = self._said(0, self._journal.count, took)
        left = max(0.0, failure.seconds - said.seconds)
        return said._replace(failure=failure._replace(seconds=left) if said.items else failure)

    def _said(self, start: int, end: int, seconds: float, least: float = 0.0) -> Answers[T]:
        """What it has answered by now; nothing if that is not to be relied on."""
        try:
            self._catch_up(end)
            if not self._items:
                return Answers([], 0.0)
            costs = self._job.costs(self._journal, start, len(self._items))
            costs = None if costs is None else _no_less(costs, least)
            took = seconds if costs is None else sum(costs)
            group = self._group[start : len(self._items)]
            return self._mask(self._job.read(group, self._items[start:], costs, took))
        except Exception:  # noqa: BLE001 - whatever a worker that went mad has written
            return Answers([], 0.0)

    def _catch_up(self, end: int) -> None:
        read = wire.reader(self._job.item)
        self._items += self._journal.read(len(self._items), end, read)


class PoolClosed(EngineError):  # noqa: N818 - what happened, not what went wrong
    """The worker pool is closed; open a new one."""


class Lane:
    """One worker process and the thread that feeds, watches and replaces it.

    The thread lives as long as the lane, because the kernel ends a worker when the thread that
    started it ends.
    """

    def __init__(self, pool: WorkerPool, number: int) -> None:
        """Start the thread; the process starts with the first job."""
        self.number = number
        self.busy_since: float | None = None
        """When it began its present job; None when idle."""
        self.closing = threading.Event()
        self._pool = pool
        self._process: WorkerProcess | None = None
        self._failed_starts = 0
        self._refused: set[int] = set()
        """Tokens of what a fresh worker has refused to work with."""
        self.name = f"{pool.name}-{number}"
        self.thread = threading.Thread(target=self._live, name=self.name, daemon=True)

    def _live(self) -> None:
        while (job := self._pool.next_job(self)) is not None:
            self.busy_since = monotonic()
            self._do(job)
            self.busy_since = None
            del job  # Its candidates may be long, and it may be long until the next one.
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _do(self, job: Job[Any]) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(self._settled(job))
        except BaseException as error:  # noqa: BLE001 - a lane must outlive its own mistakes
            job.future.set_exception(error)

    def _settled(self, job: Job[Any]) -> Any:
        case: Case[Any] = Case(
            job.count,
            lambda group, fresh: self._attempt(job, group, case.seconds, fresh=fresh),  # noqa: F821 - it is there until it is settled
            job.convict, give_up=job.give_up, excuse=job.excuse, exact=job.exact,
            control=Controls(
                job, lambda: self._known(job),
                lambda control, fresh: self._attempt(control, [0], case.seconds, fresh=fresh),  # noqa: F821
            ),
            tell=job.future.note, wasted=job.wasted,
        )  # fmt: skip
        try:
            items = case.settle()
            self._note(job, items)
            return job.answer(case, items, self.number)
        finally:
            del case  # It holds what it is called by, and so itself, with all its candidates.

    def _known(self, job: Job[Any]) -> Any:
        """A candidate that has passed: of this batch, or else of one before."""
        for position, item in list(job.future.answered.items()):
            if job.is_answer(item):
                return job.subject(position)
        return self._pool.passed.get(self._pool.shipments.token(job.thing))

    def _note(self, job: Job[Any], items: Sequence[Any]) -> None:
        """Remember one that has passed, for batches in which none does."""
        for position in range(len(items) - 1, -1, -1):
            if job.is_answer(items[position]):
                subject = job.subject(position)
                if is_small(subject):
                    self._pool.passed.note(self._pool.shipments.token(job.thing), subject)
                return

    def _attempt(
        self, job: Job[Any], group: Sequence[int], spent: float, *, fresh: bool
    ) -> Answers[Any]:
        """Try some of a job's candidates in this lane's process, or in a new one."""
        job.future.on_news()  # of what earlier attempts have settled
        crashes = 0
        watch = Watch(
            job.patience, self._pool.loading, job.limit, lambda: job.future.is_abandoned, spent,
            job.on_pause,
        )  # fmt: skip
        while True:
            process = self._ready(fresh=fresh)
            said = self._converse(process, job, group, watch)
            said = process.mask(said)  # which knows by now what the worker was lent
            if process.dead:
                process.kill()
                self._process = None
            if self.closing.is_set():
                raise PoolClosed
            if said.failure is None:
                self._failed_starts = 0
                return said
            if said.failure.cause == "start":
                self._failed_starts += 1
                if self._failed_starts % _STARTS == 0:
                    return said
            elif said.failure.cause == "load" and crashes + 1 < _LOADS:
                crashes += 1
            else:
                return said._replace(failure=self._placed(said.failure, group))

    @staticmethod
    def _placed(failure: Failure, group: Sequence[int]) -> Failure:
        """Say the position in the batch instead of that in the group."""
        if failure.position is None or failure.position >= len(group):
            return failure._replace(position=None)
        return failure._replace(position=group[failure.position])

    def _ready(self, *, fresh: bool) -> WorkerProcess:
        if self._failed_starts:
            pause = _BACK_OFF * 2 ** min(self._failed_starts, 10)
            self.closing.wait(min(pause, _LARGEST_BACK_OFF))
        if self.closing.is_set():
            raise PoolClosed
        if self._process is not None and fresh and self._process.used:
            self._process.kill()
            self._process = None
        if self._process is None:
            self._process = WorkerProcess(
                self.name, memory=self._pool.memory, nice=self._pool.nice
            )
        return self._process

    def _converse(
        self, process: WorkerProcess, job: Job[Any], group: Sequence[int], watch: Watch
    ) -> Answers[Any]:
        """Ask; answer the worker's questions about code; read its reply."""
        shipments, is_fresh = self._pool.shipments, not process.used
        try:
            token = shipments.token(job.thing)
            grant = job.grant()
            process.mask = process.mask.and_also(grant.secrets)
            arguments = job.arguments(group)
            for _ in range(_ROUNDS):
                code = None if token in process.known else shipments.code(job.thing)
                hearing = Hearing(job, group, process.journal, process.mask)
                request = _request(token, code, job.work, arguments, grant.all)
                reply = process.call(request, watch, hearing.look)
                if isinstance(reply, Failure):
                    return hearing.failed(reply, process.took)
                try:
                    kind, body, seconds = wire.read_reply(reply)
                    if kind == "ok":
                        said = hearing.ended(body, seconds, process.least)
                        process.known.add(token)
                        return said
                    if kind == "gpu":
                        return hearing.failed(_lost(process, body), process.took)
                    refusal = _refusal(body, seconds) if kind == "refuse" else None
                    missing, why = wire.read_missing(body) if kind == "import" else ("", _AGAIN)
                except Exception as error:  # noqa: BLE001 - whatever has been made of the answer
                    return Answers([], 0.0, failure=process.disbelieve("crash", f"{error}"))
                process.known.discard(token)
                if refusal is not None:
                    refusal = self._noted(refusal, process, token, is_fresh=is_fresh)
                    return Answers([], 0.0, failure=refusal)
                if kind == "import" and not shipments.send_by_value(job.thing, missing, code):
                    break
            raise ConfigError(f"a worker process can't load {job.name}: {why}")
        except LadderError as error:
            failure = Failure("refused", f"{error}", boundary=error.boundary)
            return Answers([], 0.0, failure=failure)

    def _noted(
        self, refusal: Failure, process: WorkerProcess, token: int, *, is_fresh: bool
    ) -> Failure:
        """A refusal if a fresh worker has made it once: an earlier candidate may spoil another."""
        if is_fresh:
            self._refused.add(token)
        elif token not in self._refused:
            return process.disbelieve("load", refusal.message)
        return refusal

    @property
    def pid(self) -> int | None:
        """Id of the worker process, if one runs."""
        process = self._process
        return process.pid if process else None

    def stop(self) -> None:
        """Kill what runs here and end; from another thread."""
        self.closing.set()
        process = self._process
        if process is not None:
            process.signal_death()

    def join(self) -> None:
        """Wait for the end; after `stop`, it comes at once."""
        if self.thread is threading.current_thread():
            return  # closed by the callback of a future
        deadline = monotonic() + _PATIENCE
        while self.thread.is_alive() and not (self.closing.is_set() and monotonic() > deadline):
            if self.closing.is_set():
                self.stop()  # again, for the lane may just have been starting a worker
            self.thread.join(0.05)


def _no_less(costs: Sequence[float], least: float) -> list[float]:
    """What each took by a worker's own word, but together no less than the kernel has seen."""
    whole = sum(costs)
    if whole >= least or not costs:
        return list(costs)
    return [cost * least / whole if whole else least / len(costs) for cost in costs]


def _refusal(body: bytes, seconds: float) -> Failure:
    """Why nothing can be judged; what that took is charged to nobody, like any set-up."""
    verdict = wire.rebuild(wire.read_fields(body), seconds)
    boundary = verdict.failed_at or "verifier"
    return Failure("refused", verdict.reason, boundary=boundary)


def _lost(process: WorkerProcess, body: bytes) -> Failure:
    """End a worker that can't use its GPU any more.

    That is the machine's doing, whoever it was at; while it loaded, it was at nobody.
    """
    (why,) = wire.read_lost(body)
    failure = process.end("gpu", why)
    return failure._replace(cause="load" if failure.position is None else "gpu", boundary="tool")


def _request(
    token: int, code: bytes | None, work: str, arguments: Any, variables: Mapping[str, str]
) -> bytes:
    message = (token, code, work, arguments, variables)
    try:
        return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - a task field may hold what only cloudpickle can write
        try:
            return bytes(cloudpickle.dumps(message))
        except Exception as error:
            raise ConfigError(
                f"the batch can't be sent to a worker process: {error}; keep only JSON values in "
                "a candidate's task and turns"
            ) from error
