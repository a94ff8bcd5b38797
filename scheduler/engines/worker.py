"""Workers: what runs inside a killable process, and nothing else of the engine does.

A request and its reply are bytes. A reply is plain data that says first what happened: `ok`,
`need` (send the verifier's code again), `import` (the code can't be imported here, send it by
value), `refuse` (nothing in the batch can be judged; a verdict says why), or `gpu` (this process
can't use its GPU any more, and is to be ended).
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import faulthandler
import os
import pickle
import random
import resource
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TextIO

from verifier_ladder import metering
from verifier_ladder.candidate import Candidate, Turn, checked_candidate, checked_candidates
from verifier_ladder.canonicaliser import Canonicaliser, canonical_form
from verifier_ladder.environment import lent
from verifier_ladder.errors import ConfigError, LadderError, VerifierError
from verifier_ladder.metering import Counter
from verifier_ladder.rate import pauses_told_to
from verifier_ladder.scheduler.engines import wire
from verifier_ladder.scheduler.engines.job import LONGEST, expected_amounts
from verifier_ladder.scheduler.engines.journal import MOST, Journal
from verifier_ladder.scheduler.engines.line import FarEnd
from verifier_ladder.scheduler.engines.progress import DONE, LOADING, Marked, Progress
from verifier_ladder.scheduler.engines.wire import Encoder, Item
from verifier_ladder.services.waiting import tell_waits_to
from verifier_ladder.task import seen_by
from verifier_ladder.verifiers import MiscountError, Verifier, failure

_PR_SET_PDEATHSIG = 1
_MOST_LOADED = 32
_TRUSTED = [
    (each.__name__, each)
    for each in (bool, bytes, dict, float, int, isinstance, len, list, max, min, str, tuple, type)
]
"""Built-ins that answers are read and written with, as they were before any candidate came."""


class Sheet:
    """Takes answers as they are made: in the journal as far as that has room, then in a list."""

    def __init__(self, verifier: Verifier, journal: Journal) -> None:
        """Start without answers."""
        journal.begin()
        self.rest: list[Item] = []
        """Answers that are not in the journal."""
        self._journal, self._note = journal, journal.note
        self._item = Encoder(verifier).item

    @property
    def count(self) -> int:
        """How many answers there are."""
        return self._journal.count + len(self.rest)

    def costs(self, count: int) -> Any:
        """Where to note what each of `count` candidates costs."""
        if count > MOST:
            return [0.0] * count
        self._journal.costs[:count] = memoryview(bytes(8 * count)).cast("d")
        return self._journal.costs

    def add(self, answer: Any) -> None:
        """Take the next answer."""
        item = self._item(answer)
        if not self._note(item):
            self.rest.append(item)

    def void(self, count: int) -> None:
        """Take back all answers but the first `count`: they have turned out to mean nothing."""
        del self.rest[max(0, count - self._journal.count) :]
        self._journal.seal(count)


class Meter:
    """Notes the position in the shared cell and, if asked, what each candidate costs."""

    def __init__(self, cell: Any, spent: Any, seeds: Sequence[int] | None) -> None:
        """Add what each candidate costs to its place in `spent`; None if that is not asked."""
        self.cell, self.seeds, self.spent = cell, seeds, spent
        self._at, self._counter = 0, None if spent is None else Counter()
        slow = spent is not None or seeds is not None
        self.visit: Callable[[int], None] = self._visit if slow else self._mark

    def _mark(self, position: int) -> None:
        self.cell[0] = position

    def _visit(self, position: int) -> None:
        self.cell[0] = position
        if self.spent is not None:
            self.settle()
            self._at = position
        if self.seeds is not None:
            _seed(self.seeds[position])

    def mute(self) -> None:
        """Note nothing any more that anybody else sees."""
        self.cell, self.spent = [0], None

    def settle(self) -> None:
        """Charge the time since the last mark to the candidate it stood at."""
        if self.spent is not None and self._counter is not None:
            self.spent[self._at] += self._counter.taken()


def _seed(seed: int) -> None:
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)


class Worker:
    """The state of this process: loaded verifiers, and where it tells how far it has come."""

    def __init__(self, progress: Progress, journal: Journal, memory: int | None) -> None:
        """Take what it shares with its lane, and the pool's memory limit."""
        self.progress, self.cell, self.journal = progress, progress.cell, journal
        self.memory = memory
        self.loaded: OrderedDict[int, Any] = OrderedDict()
        self.sizes: dict[int, int] = {}
        self.ready: set[int] = set()
        """Tokens of verifiers that have been set up."""
        self.floor = _data_bytes()
        self._began = 0.0
        self.pid = os.getpid()
        tell_waits_to(self.wait)
        self.meter: Meter | None = None
        """Notes how far the present request has come."""

    def begin(self) -> None:
        """Cost counts from now on."""
        metering.charge_to(self.progress.charged)
        metering.spare_to(self.progress.spared)
        self.progress.spent[0] = metering.in_tree()  # as its lane sees it
        self._began = metering.seconds()

    def pause(self, seconds: float) -> None:
        """Tell the lane for how long a service wants not to be asked."""
        until = monotonic() + seconds
        self.progress.paused[0] = max(until, self.progress.paused[0])

    def wait(self, waits: bool) -> None:  # noqa: FBT001 - its only argument
        """Tell the lane whether it waits for a service that is busy for others."""
        self.progress.waits[0] = waits

    @property
    def seconds(self) -> float:
        """Cpu-seconds since `begin`."""
        return max(0.0, metering.seconds() - self._began)

    def load(self, token: int, code: bytes | None) -> Any:
        """Give the verifier or canonicaliser behind a token, reading it at first.

        Raises:
            KeyError: If it is not here and no code came with the request.
        """
        if token in self.loaded:
            self.loaded.move_to_end(token)
            return self.loaded[token]
        if code is None:
            raise KeyError(token)
        before = _data_bytes()
        thing = pickle.loads(code)  # noqa: S301 - written by our own parent
        self.limit(token, thing)
        self.loaded[token] = thing
        self.sizes[token] = max(0, _data_bytes() - before)
        if len(self.loaded) > _MOST_LOADED:
            oldest, _ = self.loaded.popitem(last=False)
            del self.sizes[oldest]
            self.ready.discard(oldest)
        return thing

    def set_up(self, token: int, verifier: Verifier) -> None:
        """Set a verifier up before its first batch.

        Raises:
            LadderError: If that fails; the next batch has it read anew.
        """
        if token in self.ready:
            return
        before = _data_bytes()
        try:
            _set_up(verifier)
        except BaseException:
            self.loaded.pop(token, None)
            self.sizes.pop(token, None)
            raise
        self.ready.add(token)
        self.sizes[token] += max(0, _data_bytes() - before)

    def limit(self, token: int, thing: Any) -> None:
        """Limit the memory, not counting the interpreter and what other verifiers hold.

        RLIMIT_DATA counts memory that can be written. RLIMIT_AS would also count address space
        that numpy, torch and CUDA reserve and never touch, and fail them at a fraction of it.
        """
        wanted = [m for m in (getattr(thing, "memory", None), self.memory) if m is not None]
        soft = resource.RLIM_INFINITY
        if wanted:
            others = sum(size for other, size in self.sizes.items() if other != token)
            soft = self.floor + others + min(wanted)
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        if hard != resource.RLIM_INFINITY:
            soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


_WORKER: list[Worker] = []
_FORKED: list[bool] = []
"""Not empty in a process that a verifier has forked, which has no part in the worker's answers: it
may do what it was forked for, and ends where the verifier's code does."""


def main(descriptors: Sequence[int], memory: int | None, nice: int, parent: int) -> None:
    """Be a worker until the lane closes its end of the line; for the program of a `Child`.

    Args:
        descriptors: Of its end of the line, its `Progress` and its `Journal`.
        memory: Bytes that it may use; None for no limit.
        nice: How much it gives way to others.
        parent: The process that starts it.
    """
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - its only form
    line, progress, journal = descriptors
    start((Progress(progress), Journal(journal)), memory, nice, parent)
    FarEnd(line).serve(run)


def start(shared: tuple[Progress, Journal], memory: int | None, nice: int, parent: int) -> None:
    """Make this fresh process a worker: tied to its parent's life, quiet, without core dumps."""
    os.setsid()  # its children share its group, so that one signal ends them all
    _die_with(parent)
    metering.keep_tree()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills us
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if nice:
        os.nice(nice)
    sys.stdout, sys.stderr = _printer(1), _printer(2)
    faulthandler.enable()
    _WORKER.append(Worker(*shared, memory))
    os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    _FORKED.append(True)
    if (meter := _WORKER[0].meter) is not None:
        meter.mute()


def _printer(descriptor: int) -> TextIO:
    """A stream that passes on each line at once: a worker may be killed at any moment."""
    return open(
        descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _die_with(parent: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # Linux only; elsewhere the pipe's end does
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _data_bytes() -> int:
    """Bytes of writable memory now; 0 where it is unknown."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - hot
        return int(file.read().split()[5]) * resource.getpagesize()
    return 0


def _set_up(verifier: Verifier) -> None:
    try:
        if verifier.sandbox is not None:
            verifier.sandbox.start()
        for service in verifier.services.values():
            service.start()
        verifier.setup()
    except LadderError:
        raise
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
        raise VerifierError(f"the set-up of verifier {verifier.name} failed: {said}") from error


def run(request: bytes) -> bytes:
    """Do one job; whatever happens in Python, the reply is plain data.

    What it takes to load a verifier is charged to no candidate: it says nothing about the one
    that happened to come first.
    """
    worker = _WORKER[0]
    worker.begin()
    worker.cell[0] = LOADING
    reply = _reply(worker, request)
    if os.getpid() != worker.pid:  # forked by native code, which tells nobody
        os._exit(0)
    kind, *said = reply
    if kind != "gpu":  # The candidate that it was at is told.
        worker.cell[0] = DONE
    seconds = -1.0 if _is_spoiled() else worker.seconds  # can't be, so its lane ends this worker
    metering.bury()
    return wire.pack((kind, wire.pack(said), seconds))


def _is_spoiled() -> bool:
    """Whether a candidate changed a built-in: then no answer is what it would have been."""
    names = builtins.__dict__
    for name, value in _TRUSTED:  # noqa: SIM110 - any() may be what was changed
        if names.get(name) is not value:
            return True
    return False


class _GpuLostError(Exception):
    """This process can't use its GPU any more."""


def _keep_gpu() -> None:
    """Go on only if this process can use its GPU, or has none.

    Raises:
        _GpuLostError: If it can't.
    """
    if why := _lost_gpu():
        raise _GpuLostError(why)


def _lost_gpu() -> str:
    """Why this process can't use its GPU any more, in PyTorch's words; "" if it can, or has none.

    After some errors, such as a failed assertion there, every call fails until the process ends.
    """
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except RuntimeError as error:
        return f"lost its GPU: {error}"
    except Exception:  # noqa: BLE001 - it is still being imported, or something else of that name
        return ""
    return ""


def _reply(worker: Worker, request: bytes) -> tuple[Any, ...]:
    try:
        token, code, work, arguments, variables = pickle.loads(request)  # noqa: S301 - see load
    except BaseException as error:  # noqa: BLE001 - a task that can't be read
        return ("refuse", *wire.flatten(_refusal(error)))
    with lent(variables):
        return _answered(worker, token, code, work, arguments)


def _answered(
    worker: Worker, token: int, code: bytes | None, work: str, arguments: tuple[Any, ...]
) -> tuple[Any, ...]:
    try:
        try:
            thing = worker.load(token, code)
        except KeyError:
            if code is None:
                return ("need",)
            raise
        except (ImportError, AttributeError) as error:
            name = str(getattr(error, "name", None) or "")
            return ("import", wire.text(name), wire.text(f"{error}"))
        worker.limit(token, thing)
        if work == "verify":
            worker.set_up(token, thing)
        worker.begin()
        return ("ok", *_WORK[work](worker, thing, *arguments))
    except _GpuLostError as error:
        return ("gpu", wire.text(f"{error}"))
    except BaseException as error:  # set-up
        if worker.cell[0] != LOADING:
            raise  # a worker that fails while it judges has been spoiled, and dies
        if why := _lost_gpu():
            return ("gpu", wire.text(why))
        return ("refuse", *wire.flatten(_refusal(error)))


def _refusal(error: BaseException) -> Any:
    if isinstance(error, (LadderError, MemoryError)):
        return failure(error)
    return failure(ConfigError(f"a worker can't read this job: {type(error).__name__}: {error}"))


def _verify(
    worker: Worker, verifier: Verifier, columns: tuple[Any, ...],
    seeds: Sequence[int] | None, each: bool,  # noqa: FBT001 - a message's field
) -> tuple[Any, ...]:  # fmt: skip
    candidates = seen_by(verifier.name, verifier.task_fields, _candidates(*columns))
    sheet = Sheet(verifier, worker.journal)
    costs = sheet.costs(len(candidates)) if each else None
    meter = worker.meter = Meter(worker.cell, costs, seeds)
    with pauses_told_to(worker.pause):
        _judge(verifier, candidates, meter.visit, sheet)
    try:
        _keep_gpu()
    except _GpuLostError:
        sheet.void(0)  # It was lost unseen, so any of them may be spoiled.
        raise
    meter.settle()
    return sheet.rest, costs and list(costs[: len(candidates)])


def _candidates(
    kinds: str | list[str], contents: list[Any], tasks: list[Any] | None, turns: list[Any] | None
) -> list[Candidate]:
    is_bare = tasks is None and turns is None
    if isinstance(kinds, str):
        if is_bare:
            return checked_candidates(kinds, contents)
        kinds = [kinds] * len(contents)
    if is_bare:
        return list(map(checked_candidate, kinds, contents))
    tasks = tasks or [None] * len(contents)
    turns = turns or [()] * len(contents)
    rebuilt = [tuple(map(Turn.from_json, each)) for each in turns]
    return list(map(Candidate, kinds, contents, tasks, rebuilt))


def _judge(
    verifier: Verifier, candidates: Sequence[Candidate], visit: Callable[[int], None], sheet: Sheet
) -> None:
    """Judge; what fails is narrowed down until the failure stands alone.

    Answers that were given before a failure stand. The candidate it came at is then tried alone;
    without any answer the group is halved.
    """
    groups = [(0, len(candidates))]
    while groups:
        start, end = groups.pop()
        error = _tried(verifier, Marked(candidates[start:end], start, visit), sheet)
        at = sheet.count
        if error is not None:
            _keep_gpu()
        if error is None or at == end:
            continue
        if end - start == 1:
            sheet.add(failure(error))
            continue
        middle = at + 1 if at > start else (start + end) // 2
        groups += [(middle, end), (at, middle)]


def _tried(verifier: Verifier, batch: Marked, sheet: Sheet) -> BaseException | None:
    """Note what a verifier says; gives what it raised, if it did."""
    before = sheet.count
    batch.begin()
    try:
        try:
            for answer in verifier.stream(batch):
                if _FORKED:
                    break
                if "torch" in sys.modules:
                    _keep_gpu()
                sheet.add(answer)
        finally:
            _end_forked()
    except MiscountError as error:
        sheet.void(before)  # who knows which answer belongs to whom
        return error
    except _GpuLostError:
        raise
    except BaseException as error:  # noqa: BLE001 - sys.exit in a verifier is its own failure
        return error
    return None


def _canonicalise(
    worker: Worker, canonicaliser: Canonicaliser, contents: list[str | bytes]
) -> tuple[Any, ...]:
    forms: list[wire.FormItem] = []
    for position, content in enumerate(contents):
        worker.cell[0] = position
        try:
            form: wire.FormItem = wire.form_item(canonical_form(canonicaliser, content))
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it is this candidate's
            form = wire.flatten(failure(error))
        _end_forked()
        forms.append(form)
    return forms, None


def _end_forked() -> None:
    if _FORKED:
        os._exit(0)


def _expect(
    worker: Worker, verifier: Verifier, candidates: list[tuple[Any, ...]]
) -> tuple[Any, ...]:
    """What a verifier expects each check to take; why it could not tell, where it could not."""
    rest: list[Any] = []
    worker.journal.begin()
    for position, (kind, content, task, turns) in enumerate(candidates):
        worker.cell[0] = position
        try:
            candidate = Candidate(kind, content, task, tuple(map(Turn.from_json, turns)))
            amounts = expected_amounts(verifier, candidate)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, the declared cost holds
            amounts = type(error).__name__
        _end_forked()
        if isinstance(amounts, str):
            amounts = wire.text(amounts, LONGEST)
        if rest or not worker.journal.note(amounts):
            rest.append(amounts)
    return rest, None


_WORK: dict[str, Callable[..., tuple[Any, ...]]] = {
    "expect": _expect,
    "verify": _verify,
    "canonicalise": _canonicalise,
}
