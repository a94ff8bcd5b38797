"""Controls: a sandbox shows that it runs what is harmless and stops what is not."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from verifier_ladder.tiers.sandbox.backend import FILES
from verifier_ladder.tiers.sandbox.program import Ending, Input, Limits, Program
from verifier_ladder.tiers.sandbox.sandbox import Sandbox

_LIMITS = Limits(cpu=2.0, wall=60.0, memory=256 << 20, processes=6)
_DISK = Limits(cpu=2.0, wall=60.0, memory=256 << 20, processes=6, files=8, file_bytes=1 << 20)
_HARMLESS = "def solve(out): return sum(range(10))"
_ESCAPES: Mapping[str, str] = {
    "host file": "def solve(out): return out['secret'] in open(out['file']).read()",
    "loopback": """
import socket
def solve(out):
    socket.create_connection(('127.0.0.1', out['port']), 5)
    return True
""",
    "parent's environment": """
import glob, os
def solve(out):
    found = [str(dict(os.environ))]
    for name in glob.glob('/proc/[0-9]*/environ'):
        try: found.append(open(name, 'rb').read().decode(errors='replace'))
        except OSError: pass
    return out['secret'] in ' '.join(found) or any(out['variable'] in text for text in found)
""",
    "fork bomb": """
import os
def solve(out):
    started = 0
    try:
        for _ in range(500):
            if os.fork() == 0:
                while True: pass
            started += 1
    except OSError: pass
    return started > 50
""",
    "daemon": """
import ctypes, os
def solve(out):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    ctypes.CDLL(None).prctl(15, out['daemon'].encode(), 0, 0, 0)
    try: os.setsid()
    except OSError: pass
    if os.fork(): os._exit(0)
    while True: pass
""",
    "full disk": """
def solve(out):
    written = 0
    try:
        with open('large', 'wb') as file:
            while written < 1 << 26:
                written += file.write(bytes(1 << 20))
                file.flush()
    except OSError: pass
    return written > 1 << 23
""",
}
"""Each returns True if it got out."""


class Control(NamedTuple):
    """What one control has shown."""

    name: str
    held: bool
    text: str = ""
    """What came instead, if it did not hold."""


def controls(sandbox: Sandbox) -> Iterator[Control]:
    """Run a harmless program and six hostile ones.

    Raises:
        SandboxError: If the sandbox itself fails.

    Example:
        >>> with Sandbox.open() as sandbox:  # doctest: +SKIP
        ...     all(control.held for control in controls(sandbox))
        True
    """
    with _outside() as out:
        (found,) = sandbox.run(Program({"main.py": _HARMLESS}), [Input((out,))], _LIMITS)
        right = (found.ended, found.value) == (Ending.FINISHED, 45)
        yield Control("a harmless program", right, f"{found.ended}: {found.value!r}")
        for name, source in _ESCAPES.items():
            limits = _DISK if name == "full disk" and sandbox.gives(FILES) else _LIMITS
            (found,) = sandbox.run(Program({"main.py": source}), [Input((out,))], limits)
            got_out = found.ended is Ending.FINISHED and found.value is not False
            lives = name == "daemon" and _lives(out["daemon"])
            yield Control(name, not (got_out or lives), f"{found.ended}: {found.value!r}")


@contextmanager
def _outside() -> Iterator[dict[str, Any]]:
    """A file and a socket of this machine, a variable of this process, and a daemon's name."""
    secret = os.urandom(16).hex()
    with tempfile.TemporaryDirectory(prefix="vladder-control-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "secret.txt"
        file.write_text(secret)
        variable = next((f"{k}={v}" for k, v in os.environ.items() if len(v) > 8), secret)  # noqa: PLR2004
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            yield {
                "secret": secret, "file": str(file), "port": port, "variable": variable,
                "daemon": f"vladder-{secret[:6]}",
            }  # fmt: skip


def _lives(name: str) -> bool:
    """Whether a process of this name runs on the machine."""
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name:
                return True
        except OSError:
            continue  # It has ended.
    return False
