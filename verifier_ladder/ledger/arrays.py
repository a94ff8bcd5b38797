"""Arrays as PostgreSQL reads them: whole columns written at once, not value by value.

The driver writes a list by calling a function for each value; an append would spend most of its
time there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_HEAD = Struct(">iiIii")
"""Number of dimensions, whether there are nulls, type of the values, how many, first index."""
_LENGTH = Struct(">i")
_DIGEST = 32
_NULL = _LENGTH.pack(-1)


class Kind(NamedTuple):
    """A type of values."""

    oid: int
    """PostgreSQL's number of it."""
    array: int
    """PostgreSQL's number of arrays of it."""
    number: str
    """How numpy writes a value; empty if its length varies."""
    write: Callable[[Any], bytes]
    """One value."""


KINDS: Final = {
    "BIGINT": Kind(20, 1016, ">i8", Struct(">q").pack),
    "DOUBLE PRECISION": Kind(701, 1022, ">f8", Struct(">d").pack),
    "BYTEA": Kind(17, 1001, "", bytes),
    "TEXT": Kind(25, 1009, "", str.encode),
}


class Array(bytes):
    """An array as PostgreSQL reads it; the classes below say of what."""


class Whole(Array):
    """An array of BIGINT."""


class Number(Array):
    """An array of DOUBLE PRECISION."""


class Binary(Array):
    """An array of BYTEA."""


class Words(Array):
    """An array of TEXT."""


_CLASSES: dict[str, type[Array]] = {
    "BIGINT": Whole,
    "DOUBLE PRECISION": Number,
    "BYTEA": Binary,
    "TEXT": Words,
}


def array(kind: str, values: Sequence[Any]) -> Array:
    """Write values, of which some may be None.

    Args:
        kind: One of `KINDS`.
        values: The values.

    Raises:
        OverflowError: If a number is too large.

    Example:
        >>> array("BIGINT", [1]).hex()
        '0000000100000000000000140000000100000001000000080000000000000001'
    """
    made = KINDS[kind]
    has_null = None in values
    if kind == "BYTEA" and not has_null and set(map(len, values)) == {_DIGEST}:
        digests = np.frombuffer(b"".join(values), dtype=f"V{_DIGEST}")
        body = _of_one_width(f"V{_DIGEST}", digests)
    elif has_null or not made.number:
        body = b"".join([_NULL if value is None else _value(made, value) for value in values])
    else:
        body = _of_one_width(made.number, values)
    head = _HEAD.pack(1, has_null, made.oid, len(values), 1)
    return _CLASSES[kind](head + body)


def _of_one_width(kind: str, values: Any) -> bytes:
    """Many values at once, which numpy writes alike."""
    rows = np.empty(len(values), dtype=[("length", ">i4"), ("value", kind)])
    rows["length"] = rows.dtype["value"].itemsize
    rows["value"] = values
    return rows.tobytes()


def _value(kind: Kind, value: Any) -> bytes:
    text = kind.write(value)
    return _LENGTH.pack(len(text)) + text


def register(adapters: AdaptersMap) -> None:
    """Have a connection take arrays as they are."""
    for kind, name in _CLASSES.items():
        adapters.register_dumper(name, _dumper(KINDS[kind].array))


def _dumper(number: int) -> type[Dumper]:
    class ArrayDumper(Dumper):
        """Hands over what is written already."""

        format = Format.BINARY
        oid = number

        def dump(self, obj: Any) -> bytes:
            return bytes(obj)

    return ArrayDumper
