"""Rows of the work queue that no program of ours has written, and what is done about them.

SQLite keeps any type in any column, and both databases keep numbers beyond what is counted with.
One such row would end every call that comes upon it, with all that the call was about. So a row
that can't be used is an error, and a call that meets an error has such rows set aside, each as a
dead check whose note says why, and is made once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import NoneType
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy.dialects import sqlite

from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger.baton import BatonLostError
from verifier_ladder.ledger.records import LateError, OvertakenError
from verifier_ladder.ledger.schema import RESERVE, RESERVED, check_queue
from verifier_ladder.tier import Tier

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verifier_ladder.ledger.store import Store

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Store")
NOTE: Final = "this row of the work queue was set aside: no program writes what stands in "
"""What the note of a row begins with that was set aside; the columns follow."""
_BOUNDS = {
    "tier": (0, max(Tier)), "fence": (0, 2**53), "attempt": (-1, 2**31),
    "priority": (-1e300, 1e300),
    **dict.fromkeys(RESERVE, (0, 1e10)), **dict.fromkeys(RESERVED, (0, 2**62)),
}  # fmt: skip
"""What is counted with; `attempt` is one less for a moment where a lease is given back."""
_TYPES = {"INTEGER": ("integer", "0", int), "REAL": ("real", "0", float),
          "TEXT": ("text", "''", str), "BLOB": ("blob", "x''", bytes)}  # fmt: skip
"""SQLite's type, what takes the place of what can't be used, and Python's type."""


class DamagedRowError(ValueError):
    """A row of the work queue can't be used."""


def check_types(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Make sure that rows of the work queue hold what their columns are for.

    Raises:
        DamagedRowError: If one does not.
    """
    wanted = tuple(_type_of(check_queue.columns[name])[2] for name in columns)
    for kinds in {tuple(map(type, row)) for row in rows} - {wanted}:
        for name, kind, right in zip(columns, kinds, wanted, strict=True):
            if kind is not right and not (kind is NoneType and check_queue.columns[name].nullable):
                raise DamagedRowError(
                    f"the work queue holds a row whose {name} is of another type"
                )


def set_aside(connection: Connection) -> list[str]:
    """Make dead checks of all rows that can't be used; gives the note of each.

    What they had reserved stays reserved: nobody knows any more whose it was.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    tests = {
        column.name: test
        for column in check_queue.columns
        if (test := _wrong(column, is_sqlite=is_sqlite))
    }
    found = connection.exec_driver_sql(
        f"SELECT id, {', '.join(tests.values())} FROM check_queue "
        f"WHERE {' OR '.join(tests.values())}"
    ).all()
    notes = []
    for number, *is_wrong in found:
        bad = [name for name, yes in zip(tests, is_wrong, strict=True) if yes]
        notes.append(NOTE + ", ".join(bad))
        changes = {name: _instead(check_queue.columns[name]) for name in bad} | _ENDED
        told = ", ".join(f"{name} = {value}" for name, value in changes.items())
        connection.exec_driver_sql(
            f"UPDATE check_queue SET {told} WHERE id = ?", (notes[-1], number)
        )
    return notes


_ENDED = {**dict.fromkeys(RESERVED, "0"), "owner": "''", "state": "4", "note": "?"}


def _wrong(column: Any, *, is_sqlite: bool) -> str:
    """SQL: whether a row can't be used because of this column; empty if that can't be."""
    name, tests = column.name, []
    if is_sqlite:
        or_null = f" OR {name} IS NULL" if column.nullable else ""
        tests.append(f"(typeof({name}) = '{_type_of(column)[0]}'{or_null})")
    if name in _BOUNDS:
        tests.append("{} BETWEEN {} AND {}".format(name, *_BOUNDS[name]))
    return f"NOT ({' AND '.join(tests)})" if tests else ""


def _type_of(column: Any) -> tuple[str, str, type]:
    return _TYPES[column.type.compile(sqlite.dialect())]


def _instead(column: Any) -> str:
    if column.name == "check_key":
        return "CAST(check_key AS BLOB)"
    return "NULL" if column.nullable else _type_of(column)[1]


def contained(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Have a method of the work queue go on beside rows that can't be used."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **options: P.kwargs) -> R:
        try:
            return method(self, *args, **options)
        except (LedgerAwayError, BatonLostError, LateError, OvertakenError):
            raise
        except Exception:  # Whatever such a row brings about.
            if not self.set_aside():
                raise
        return method(self, *args, **options)

    return call
