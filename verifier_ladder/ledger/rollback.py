"""Rollback journals: files beside a ledger that SQLite would play back into it.

This program writes ahead, into `-wal`, where every change is one of the ledger's own. SQLite also
looks for a `-journal`, in any mode, and puts the pages that stand there into the file when it is
opened next. Whoever can write the folder can so change a ledger without touching it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from verifier_ladder.errors import LedgerError

# Asked by another process: closing a file drops all locks that one's own process holds on it.
_ASK = """
import fcntl, os, struct, sys
file = os.open(sys.argv[1], os.O_RDONLY)
asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, int(sys.argv[2]), 1, 0)
told = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))
sys.exit(0 if told[0] == fcntl.F_UNLCK else 7)
"""
_LOCKED = 7
_RESERVED: Final = 0x40000001
"""The byte of a file that is locked while its journal is in use."""
_NO_LEDGER: Final = 4096
"""Bytes in which no ledger's tables have room: a file that was just being made."""
_PATIENCE, _PAUSE = 30.0, 0.02


def check_no_journal(path: Path) -> None:
    """Make sure that opening a ledger file changes nothing in it.

    A journal that another process is using is waited for: SQLite takes one for a moment where a
    file begins to write ahead.

    Raises:
        LedgerError: If a rollback journal lies beside it.
    """
    path = path.resolve()  # SQLite follows links, and looks beside what they lead to.
    journal, until = journal_of(path), monotonic() + _PATIENCE
    if not path.exists() or path.stat().st_size <= _NO_LEDGER:
        return
    while (found := _state_of(journal)) is not None:
        if not is_locked(path, _RESERVED) and found == _state_of(journal):
            raise LedgerError(
                f"{journal} lies beside the ledger: SQLite would write its pages into {path}, and "
                "this program keeps no such journal. Move it to another folder, for no entry of "
                "the ledger stands in it, and run `vladder ledger verify`"
            )
        if monotonic() > until:
            raise LedgerError(f"{path} is in use by a program that holds {journal}; end it first")
        sleep(_PAUSE)


def journal_of(path: Path) -> Path:
    """Where SQLite looks for a file's journal."""
    return path.with_name(f"{path.name}-journal")


def _state_of(journal: Path) -> tuple[int, int] | None:
    """Which journal it is; None where SQLite sees none."""
    try:
        found = journal.stat()
    except FileNotFoundError:
        return None
    is_empty = journal.is_file() and not found.st_size
    return None if is_empty else (found.st_ino, found.st_mtime_ns)


def is_locked(path: Path, byte: int) -> bool:
    """Whether any process has locked a byte of a file, this one included."""
    asked = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-ISc", _ASK, str(path), str(byte)], check=False, capture_output=True
    )
    return asked.returncode == _LOCKED
