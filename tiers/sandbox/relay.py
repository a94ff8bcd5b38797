"""A zygote where only standard input and output get through: in a wrapper, or on another machine.

    worker ── pipe ── wrapper ── relay ── zygote      (`command`)
    worker ── HTTP ── service ── relay ── zygote      (`remote`)

The relay comes with its sources, for what is wrapped around it may hold Python alone. Only the
standard library is imported here.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import sys
from collections.abc import Mapping
from threading import Thread
from typing import Any, BinaryIO

from verifier_ladder.errors import LadderError, SandboxError
from verifier_ladder.text import printable
from verifier_ladder.tiers.sandbox.outcome import UNREADABLE, Told
from verifier_ladder.tiers.sandbox.program import Limits, Warmth
from verifier_ladder.tiers.sandbox.zygoteprocess import Zygote

TOLD = "vladder-told.json"
"""Where a relay that is asked once leaves its answer."""
_MOST_SECONDS = 1e9
_MOST_STATUS = 0xFFFF
_SAID = 500


def serve(folder: str) -> None:
    """Answer frames until standard input ends, then remove the folder of the sources."""
    try:
        options = json.loads(read_frame(sys.stdin.buffer) or b"{}")
        zygote = _begun(options)
        _write(sys.stdout.buffer, {"error": zygote} if isinstance(zygote, str) else {})
        if isinstance(zygote, str):
            return
        Thread(target=_end_with_input, args=(folder,), daemon=True).start()
        while frame := read_frame(sys.stdin.buffer):
            _write(sys.stdout.buffer, _answer(zygote, json.loads(frame)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answer_once(folder: str, options: dict[str, Any], request: dict[str, Any]) -> None:
    """Answer one request in a file of the folder that this was started in."""
    try:
        zygote = _begun(options)
        said = {"error": zygote} if isinstance(zygote, str) else _answer(zygote, request)
        with open(TOLD, "w", encoding="ascii") as file:  # noqa: PTH123
            json.dump(said, file)
        if isinstance(zygote, Zygote):
            zygote.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _begun(options: Mapping[str, Any]) -> Zygote | str:
    """A warm zygote, or why there is none."""
    try:
        return Zygote(options["kind"], Warmth(**options["warmth"]))
    except LadderError as error:
        return str(error)


def _answer(zygote: Zygote, request: dict[str, Any]) -> dict[str, Any]:
    try:
        limits = Limits(output=request["output"], wall=request["wall"])
        told = zygote.run(
            base64.b64decode(request["request"]), base64.b64decode(request["stdin"]), limits
        )
    except LadderError as error:
        return {"error": str(error)}
    return {
        "answers": request["id"],
        "report": told.report,
        "stdout": base64.b64encode(told.stdout).decode(),
        "stderr": base64.b64encode(told.stderr).decode(),
        "result": base64.b64encode(told.result).decode(),
        "flooded": told.flooded,
        "seconds": zygote.seconds,
    }


def asked(request: bytes, stdin: bytes, limits: Limits) -> dict[str, Any]:
    """What a relay is asked, for one input; by its id the answer is known to be this one's."""
    return {
        "id": os.urandom(16).hex(),
        "request": base64.b64encode(request).decode(),
        "stdin": base64.b64encode(stdin).decode(),
        "output": limits.output,
        "wall": limits.wall,
    }


def told_in(
    text: str | bytes, request: Mapping[str, Any], limits: Limits, who: str
) -> tuple[Told, float]:
    """What came out for one input, and seconds that all inputs of its relay have taken.

    Args:
        text: What came as an answer, which is believed only as far as it can be true.
        request: What was asked.
        limits: Of the input.
        who: Has answered, in messages.

    Raises:
        SandboxError: If it is no answer to that, or tells of a failure.
    """
    try:
        said = said_in(text, who)
        if said["answers"] != request["id"]:
            raise ValueError("it is about another input")
        report, seconds = dict(said["report"]), float(said["seconds"])
        bounds = {"cpu": _MOST_SECONDS, "wall": _MOST_SECONDS, "memory": 1 << 62,
                  "status": _MOST_STATUS}  # fmt: skip
        numbers = [(report[name], most) for name, most in bounds.items()]
        if not all(0 <= number <= most for number, most in [*numbers, (seconds, _MOST_SECONDS)]):
            raise ValueError("numbers out of range")
        report["status"], report["memory"] = int(report["status"]), int(report["memory"])
        output, errors, result = (
            base64.b64decode(said[name]) for name in ("stdout", "stderr", "result")
        )
        if len(output) + len(errors) > limits.output:
            raise ValueError("it is longer than it may be")
        return Told(report, output, errors, result, bool(said["flooded"])), seconds
    except UNREADABLE as error:
        why = printable(str(error), _SAID)
        raise SandboxError(f"{who} answered what is no answer: {why}") from None


def said_in(text: str | bytes, who: str) -> dict[str, Any]:
    """The object that somebody has answered.

    Raises:
        SandboxError: If it is none, or tells of a failure.
    """
    try:
        said = json.loads(text)
    except UNREADABLE:
        said = None
    if not isinstance(said, dict):
        raise SandboxError(f"{who} answered what is no answer: no object in JSON")
    if "error" in said:
        raise SandboxError(f"{who} failed: {printable(str(said['error']), _SAID)}")
    return said


def _end_with_input(folder: str) -> None:
    """End at once when whoever asks is gone: the zygote ends with this process."""
    poller = select.poll()
    poller.register(0, 0)  # The end of it is always told.
    poller.poll()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def read_frame(file: BinaryIO) -> bytes:
    """The next frame; nothing at the end."""
    head = file.read(8)
    return file.read(int.from_bytes(head, "big")) if len(head) == 8 else b""  # noqa: PLR2004


def framed(message: Mapping[str, Any]) -> bytes:
    """A message as a frame."""
    text = json.dumps(message).encode()
    return len(text).to_bytes(8, "big") + text


def _write(file: BinaryIO, message: Mapping[str, Any]) -> None:
    file.write(framed(message))
    file.flush()
