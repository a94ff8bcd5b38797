"""Free values as JSON and back: what JSON itself can't hold is marked and survives.

A marked value is an object with one key that begins with `$`; an object of the user's that has
such a key is itself marked, so the two are never confused.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import orjson

_LARGEST = 2**63
_CONTAINERS = frozenset({dict, list})


def pack(value: Any) -> Any:
    """Make a value one that orjson writes and `unpack` gives back equal.

    Kept exactly: None, booleans, integers of any size, floats with NaN and infinity, text with
    lone surrogates, bytes, lists, tuples, and mappings of those. Enumerations become their
    values, numpy scalars and arrays their numbers. Anything else becomes its text: a strange
    piece of evidence must not cost a verdict.

    Example:
        >>> pack(b"ok")
        {'$bytes': 'b2s='}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value) if -_LARGEST <= value < _LARGEST else {"$int": str(int(value))}
    if isinstance(value, float):
        return float(value) if isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": b64encode(value).decode()}
    return _container(value)


def _text(value: str) -> Any:
    value = str.__str__(value)  # An enumeration's value, as keys hold it, not its name.
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"$text": b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    return value


def _container(value: Any) -> Any:
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [pack(item) for item in value]}
    if isinstance(value, Mapping):
        if all(isinstance(k, str) and k.isascii() and not k.startswith("$") for k in value):
            return {str(key): pack(item) for key, item in value.items()}
        return {"$map": [[pack(key), pack(item)] for key, item in value.items()]}
    if hasattr(value, "tolist"):  # numpy arrays and scalars, torch tensors
        return pack(value.tolist())
    return _text(str(value))


_MARKS: dict[str, Callable[[Any], Any]] = {
    "$bytes": a2b_base64,
    "$text": lambda value: b64decode(value).decode("utf-8", "surrogatepass"),
    "$int": int,
    "$float": float,
    "$tuple": lambda value: tuple(unpack(item) for item in value),
    "$map": lambda value: {unpack(key): unpack(item) for key, item in value},
}


def unpack(value: Any) -> Any:
    """Give back what `pack` was given.

    Example:
        >>> unpack(pack({"limits": (1, float("inf"))}))
        {'limits': (1, inf)}
    """
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, item),) = value.items()
            if key in _MARKS:
                return _MARKS[key](item)
        if is_marked(value.values()):
            return {key: unpack(item) for key, item in value.items()}
        return value
    if isinstance(value, list):
        return list(map(unpack, value)) if is_marked(value) else value
    return value


def is_marked(values: Iterable[Any]) -> bool:
    """Whether values that orjson has read may hold one that is marked."""
    return not _CONTAINERS.isdisjoint(map(type, values))


def dumps(value: Any) -> bytes:
    """Write a free value as JSON text.

    Example:
        >>> dumps({"group": "a"})
        b'{"group":"a"}'
    """
    try:
        text = orjson.dumps(value)
        if b"$" not in text and orjson.loads(text) == value:  # Plain JSON: nothing to mark.
            return text
    except (TypeError, ValueError, RecursionError):
        pass
    return orjson.dumps(pack(value))


def read_object(stored: Any) -> dict[str, Any]:
    """Read an object that `dumps` wrote; nothing, if somebody else wrote what can't be read.

    For rows that change, and so are not signed: one of them must not hide all the others.

    Example:
        >>> read_object(b'{"kind":"text"}'), read_object(b"not JSON")
        ({'kind': 'text'}, {})
    """
    try:
        found = loads(stored)
    except Exception:  # noqa: BLE001 - whoever can write to the database can have written anything
        return {}
    return found if isinstance(found, dict) else {}


def loads(text: bytes | str) -> Any:
    """Read what `dumps` wrote."""
    value = orjson.loads(text)
    data = text if isinstance(text, bytes) else text.encode()
    return unpack(value) if b'"$' in data else value
