"""Neighbours that leave a machine no core to spare."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_machine() -> Iterator[None]:
    """Six other processes that want every core."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
        for each in busy:
            each.wait()
