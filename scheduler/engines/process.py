"""Worker processes: started, watched and killed by the lane that owns them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from verifier_ladder.environment import THREADS, harmless, hide_declared
from verifier_ladder.masking import NO_MASK
from verifier_ladder.scheduler.engines.child import Child
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.line import Line
from verifier_ladder.scheduler.engines.log import Log
from verifier_ladder.scheduler.engines.ownclock import OwnClock, gives_way
from verifier_ladder.scheduler.engines.progress import LOADING, NOT_STARTED, Progress
from verifier_ladder.scheduler.engines.watch import Failure, Spending, Watch

_TUNABLES = "GLIBC_TUNABLES"
_MORE_BLOCKS = "glibc.malloc.tcache_count=127"
"""Small blocks of each size that the allocator keeps at hand, 5 MB at most. Libraries such as
RDKit free hundreds at once; with glibc's seven they spend a sixth of their time on it."""
_SETTING_UP = (NOT_STARTED, LOADING)
_LAST_WORDS = 0.2
_NICEST = 19
_LOOK = 0.05
"""Seconds after which to look at what a worker has answered so far."""


class WorkerProcess:
    """One killable process. Its death closes its end of the line, which is noticed at once.

    It must be started from the lane's thread, whose end ends the process.
    """

    def __init__(self, name: str, *, memory: int | None, nice: int) -> None:
        """Prepare; the process starts with the first call."""
        self.known: set[int] = set()
        """Tokens of the verifiers it has been sent."""
        self.used = False
        """Whether it has worked: a second opinion wants a fresh one."""
        self.pid: int | None = None
        """Its process id, once it has been started."""
        self.dead = False
        """Whether it has been killed; a dead one can't be called again."""
        self.mask = NO_MASK
        """Hides the secrets that it has been lent: its log may hold those of another verifier."""
        self._at = NOT_STARTED
        self._nice = min(os.getpriority(os.PRIO_PROCESS, 0) + nice, _NICEST)
        self._kills: int | None = None
        self._log = Log(name)
        self._progress = Progress()
        self._line = Line()
        self.journal = Journal()
        """What it has answered to the present request; there until it is killed."""
        self.took = 0.0
        """Cpu-seconds that the candidates took which it has answered of the present request."""
        self.least = 0.0
        """Cpu-seconds that those surely took, as the kernel tells: what it showed before the last
        of them was answered."""
        self._cpu = 0.0
        self._paused = 0.0
        self._name = name
        self._limits = (memory, nice, os.getpid())
        self._process: Child

    def call(
        self, request: bytes, watch: Watch, look: Callable[[float, float], None]
    ) -> bytes | Failure:
        """Run one request to its end, or to the worker's; after a failure, `kill` cleans up.

        Args:
            request: What it is asked.
            watch: How long it may take.
            look: Called now and then while it is at work, with the cpu-seconds that those who
                have answered took, and those that they surely took.
        """
        self.took = self.least = self._cpu = 0.0
        self._progress.cell[0] = NOT_STARTED
        self.journal.begin()
        self._line.ask(request)
        try:
            if self.pid is None:
                self._start()
            said = self._wait(watch, look)
        except Exception as error:  # noqa: BLE001 - no processes, no memory, a closed line
            said = self._death(error)
        if isinstance(said, bytes):
            self.used = True
            return said
        self._end()
        return said._replace(log=self._log.tail())

    def _start(self) -> None:
        self._kills = memory_kills()
        hide_declared()
        shared = [end.descriptor for end in (self._line.far, self._progress, self.journal)]
        self._process = Child(
            ("verifier_ladder.scheduler.engines.worker", "main"), [shared, *self._limits],
            name=self._name, environment=_environment(), descriptors=shared,
            output=self._log.writer.descriptor,
        )  # fmt: skip
        self.pid = self._process.pid
        # Held by both sides, neither pipe nor line would end when the worker dies.
        self._log.writer.close()
        self._line.far.close()

    def _wait(self, watch: Watch, look: Callable[[float, float], None]) -> bytes | Failure:
        """Wait for the answer; the worker's death raises."""
        cell = self._progress.cell
        self._at = at = NOT_STARTED
        answered, before = 0, 0.0
        clock = OwnClock(self._process.pid, watch.loading)
        spending = Spending(watch, self._measured)
        while True:
            if cell[0] != at:
                self._at = at = cell[0]
                limit = watch.loading if at in _SETTING_UP else watch.patience
                clock = OwnClock(self._process.pid, limit)
                self.took = self._taken
            if self.journal.count == answered:
                before = self._cpu
            else:  # Calls at work at once end in any place.
                answered, self.least = self.journal.count, self._charged(before)
                # Measured after they were counted: an earlier look lacks their last.
                self.took = self._measured()
            clock.look(waits=bool(self._progress.waits[0]))
            if (left := clock.left) <= 0 and cell[0] == at:
                return self._hang(clock)
            is_loading = at in _SETTING_UP
            if not is_loading and (reserved := spending.exceeded()) is not None:
                message = f"spent the {reserved:.3g} cpu-seconds reserved for it"
                return self._failure("budget", message)._replace(boundary="budget")
            if watch.is_abandoned():
                return self._failure("abandoned", "was given up, for nobody waits for it")
            look(self.took, self.least)
            self._look_for_pause(watch)
            # A hang is noticed within a tenth of its time limit.
            pause = min(left, max(watch.patience / 10, 0.02), _LOOK)
            if not is_loading:
                pause = min(pause, spending.pause)
            if (reply := self._line.hear(max(pause, 0.005))) is not None:
                self._look_for_pause(watch)
                self.least = self._charged(self._cpu)
                return reply
            self._measured()
            if self._process.exitcode is not None:
                self.signal_death()  # a child of the dead worker may hold its pipes open

    def _look_for_pause(self, watch: Watch) -> None:
        """Pass on that a service wants not to be asked for a while."""
        until = self._progress.paused[0]
        if watch.on_pause is not None and until > self._paused:
            self._paused = until
            watch.on_pause(until - monotonic())

    def _hang(self, clock: OwnClock) -> Failure:
        at = self._progress.cell[0]
        if at in _SETTING_UP:
            message = f"took longer than {clock.limit:g} s to set up"
            if not clock.is_spent:
                message = f"could not be set up: it {clock.starved}"
            return self._failure("start" if at == NOT_STARTED else "stuck", message)
        if clock.is_spent:
            said = self._failure("hang", f"ran longer than {clock.limit:g} s")
            return said._replace(slept=clock.slept > clock.own / 2)
        if gives_way(self._process.pid, self._nice):
            message = f"lowered its own priority and was not done in {clock.wall:.3g} s"
            return self._failure("hang", message)
        return self._failure("starved", clock.starved)

    def _death(self, error: Exception) -> Failure:
        if self.pid is None:
            return self._failure("start", f"could not be started: {error}")
        self._measured()  # The kernel forgets it once it is joined.
        self.signal_death()  # one that hung up and lives on; a dead one keeps its exit code
        self._process.join(1.0)
        code = self._process.exitcode
        how = f"could not be reached: {error}" if code is None else _ending(code)
        causes = {NOT_STARTED: "start", LOADING: "load"}
        cause = causes.get(self._progress.cell[0], "crash")
        if code == -signal.SIGKILL:
            kills = memory_kills()
            if kills is None:
                how += ", perhaps because the machine ran out of memory"
            elif self._kills is not None and kills > self._kills:
                how = "was killed by the kernel, for the machine or container had no memory left"
                cause = "oom" if cause == "crash" else cause
        return self._failure(cause, how)

    def disbelieve(self, cause: str, why: str) -> Failure:
        """End a worker that has said what can't be: what a candidate does may have spoiled it."""
        return self.end(cause, f"answered what can't be ({why})")

    def end(self, cause: str, message: str) -> Failure:
        """End a worker that is not to be asked again."""
        said = self._failure(cause, message)
        self._end()
        return said._replace(log=self._log.tail())

    def _failure(self, cause: str, message: str) -> Failure:
        at: int = self._progress.cell[0]
        seconds = self._measured()
        if at != self._at:
            self.took = seconds
        return Failure(cause, message, at if at >= 0 else None, seconds)

    def _measured(self) -> float:
        """The cpu time it has taken for the present request: sleeping and loading take none."""
        if self.pid is None or self._progress.cell[0] in _SETTING_UP:
            return self._charged(self._cpu)
        self._cpu = max(self._cpu, self._progress.used(self.pid))
        return self._taken

    @property
    def _taken(self) -> float:
        """The same at the last look; what services took is known sooner, with their answers."""
        return self._charged(self._cpu) + self._progress.elsewhere

    def _charged(self, cpu: float) -> float:
        """What is left of cpu time without what nobody is charged for."""
        return max(0.0, cpu - self._progress.nobodys)

    def signal_death(self) -> None:
        """Kill it and its children; from another thread, its lane then notices and cleans up."""
        if self.pid is not None and not self.dead:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                # The group exists once the worker is set up; all in it may be another user's.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill it with all its children, and give its resources back; twice is allowed."""
        self._end()
        self.journal.close()

    def _end(self) -> None:
        if self.dead:
            return
        self.dead = True  # its id may be another process's from here on
        self._line.close()
        self._log.writer.close()
        if self.pid is not None:
            self._process.kill()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)  # children that outlived it keep its group
        self._log.join(_LAST_WORDS)
        self._progress.close()


def _environment() -> dict[str, str]:
    """What a worker begins with; who has tuned the allocator knows better."""
    return {_TUNABLES: _MORE_BLOCKS} | harmless() | dict.fromkeys(THREADS, "1")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended its process with exit code {code}"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return f"crashed with {name}"


def memory_kills() -> int | None:
    """How many processes the kernel has killed for want of memory; None where it doesn't tell."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    counts = [line.split()[1] for line in lines if line.startswith("oom_kill ")]
    return int(counts[0]) if counts else None
