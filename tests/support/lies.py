"""Lies that a sandbox of others tells: what it answers for a program that names one of them.

Only the standard library is imported here: a command that lies loads this file.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from math import inf, nan
from typing import Any

Answer = dict[str, Any]


def _with(**changed: Any) -> Callable[[Answer], Answer]:
    return lambda told: {**told, **changed}


def _reporting(**changed: Any) -> Callable[[Answer], Answer]:
    return lambda told: {**told, "report": {**told["report"], **changed}}


LIES: Mapping[str, Callable[[Answer], Any]] = {
    "no JSON": lambda _: b"accept",
    "no object": lambda _: ["error"],
    "a number": lambda _: 7,
    "lists without end": lambda _: b"[" * 100_000,
    "a number of many digits": _with(seconds=10**4000),
    "a time that is no number": _with(seconds=nan),
    "a time without end": _with(seconds=inf),
    "a time before it began": _with(seconds=-1),
    "a status out of range": _reporting(status=1 << 40),
    "no status": _reporting(status=None),
    "a limit that is a list": _reporting(limit=[]),
    "no report": _with(report=[]),
    "files that are none": _reporting(kept="program"),
    "more than may be written": _with(stdout=base64.b64encode(bytes(3 << 20)).decode()),
    "no text": _with(result=9),
    "what became of another one": _with(answers="0" * 32),
    "what became of nobody": lambda told: {k: v for k, v in told.items() if k != "answers"},
    "an error that a terminal obeys": lambda _: {"error": "\x1b[2J" * 100_000},
}
"""By name; each is given an answer that would be believed, by which the program returned 9."""


def lie_of(request: Mapping[str, Any]) -> bytes:
    """What is answered to a request; nothing if its program names no lie."""
    named = re.search(rb"# lie: ([\w ]+)", base64.b64decode(request["request"]))
    if named is None:
        return b""
    report: Answer = {
        "cpu": 0.25, "wall": 0.25, "memory": 1, "status": 0, "limit": None, "full": False,
        "kept": {},
    }  # fmt: skip
    told: Answer = {
        "answers": request.get("id"), "report": report, "stdout": "", "stderr": "",
        "result": base64.b64encode(b'v["i","9"]').decode(), "flooded": False, "seconds": 0.25,
    }  # fmt: skip
    said = LIES[named[1].decode()](told)
    return said if isinstance(said, bytes) else json.dumps(said).encode()
