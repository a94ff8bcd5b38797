"""What a supervisor reports and a candidate tells, as a result."""

from __future__ import annotations

import base64
import errno
import os
import signal
from typing import Any, NamedTuple

from verifier_ladder.tiers.sandbox import values
from verifier_ladder.tiers.sandbox.candidate import NO_THREAD
from verifier_ladder.tiers.sandbox.program import Ending, Limits, Program, Result

_EXCESS = {
    errno.EAGAIN: Ending.PROCESSES,
    errno.ENOMEM: Ending.MEMORY,
    errno.ENOSPC: Ending.FILES,
    errno.EDQUOT: Ending.FILES,
    errno.EFBIG: Ending.FILES,
    errno.EROFS: Ending.FILES,
}
"""Of what there was too much, where an exception has this number."""
_SIGNALS: dict[int, Ending] = {signal.SIGXCPU: Ending.CPU, signal.SIGXFSZ: Ending.FILES}
_LIMITS = {
    "cpu": Ending.CPU,
    "wall": Ending.WALL,
    "memory": Ending.MEMORY,
    "processes": Ending.PROCESSES,
}
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What is raised where an answer from outside is read that is none."""


class Told(NamedTuple):
    """All that came out of a sandbox for one input."""

    report: dict[str, Any]
    """From the supervisor, which is trusted."""
    stdout: bytes
    stderr: bytes
    result: bytes
    """From the candidate's process: anything at all."""
    flooded: bool
    """Whether it was stopped because it wrote too much."""


def result_of(told: Told, program: Program, limits: Limits) -> Result:
    """Make a result of what came out.

    The report decides how it ended and what it took; the candidate's own words decide the rest.
    """
    report = told.report
    ended, said = _ending(told, program, limits)
    status, number = report["status"], None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
    files = dict(zip(program.files, program.contents, strict=True))
    kept = {
        name: base64.b64decode(text) for name, text in report["kept"].items()
        if name in program.keep
    }  # fmt: skip
    if not limits.files:  # None could be changed.
        kept = {name: files[name] for name in program.keep if name in files}
    return Result(
        ended=ended,
        **said,
        signal=number,
        status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        stdout=told.stdout,
        stderr=told.stderr,
        cpu=report["cpu"],
        wall=report["wall"],
        memory=report["memory"],
        files=kept,
    )


def _ending(told: Told, program: Program, limits: Limits) -> tuple[Ending, dict[str, Any]]:
    report, status = told.report, told.report["status"]
    if told.flooded:
        return Ending.OUTPUT, {"message": "it wrote too much"}
    if report["cpu"] > limits.cpu:
        return Ending.CPU, {}
    if report["limit"] in _LIMITS:
        return _LIMITS[report["limit"]], {}
    if os.WIFSIGNALED(status):
        return _SIGNALS.get(os.WTERMSIG(status), Ending.CRASHED), {}
    return _exited(told, program)


def _exited(told: Told, program: Program) -> tuple[Ending, dict[str, Any]]:
    """How it ended by itself."""
    if os.WEXITSTATUS(told.report["status"]):
        # Of a process that ended well, a child has told this.
        if program.kind != "command" and told.result[:1] == b"e":
            return _raised(told.result[1:])
        return (Ending.FILES if told.report["full"] else Ending.EXITED), {}
    if program.kind != "function":
        return Ending.FINISHED, {}
    return _returned(told.result)


def _raised(text: bytes) -> tuple[Ending, dict[str, Any]]:
    """An exception, which may tell that a limit was reached."""
    try:
        name, message, number = values.decode(text)
        if type(name) is not str or type(message) is not str:
            raise values.ValueTextError("it tampered with its error")  # noqa: TRY301
    except (values.ValueTextError, TypeError, ValueError):
        return Ending.RAISED, {"message": "it tampered with the channel of its result"}
    said = {"error": _shown(name, 200), "message": _shown(message, 2000)}
    usual = Ending.THREADS if (name, message) == NO_THREAD else Ending.RAISED
    return (_EXCESS.get(number, usual) if type(number) is int else usual), said


def _shown(text: str, most: int) -> str:
    """The beginning of a text, without halves of characters, which can be written nowhere."""
    return text[:most].encode(errors="replace").decode()


def _returned(result: bytes) -> tuple[Ending, dict[str, Any]]:
    """A function's value, if it told one."""
    if not result:
        return Ending.EXITED, {"message": "it ended before its function had returned"}
    if result[:1] == b"u":
        return Ending.UNTOLD, {"message": result[1:2001].decode(errors="replace")}
    try:
        if result[:1] != b"v":
            raise values.ValueTextError("it tampered with the channel of its result")  # noqa: TRY301
        return Ending.FINISHED, {"value": values.decode(result[1:])}
    except values.ValueTextError as error:
        return Ending.UNTOLD, {"message": str(error)}
