"""Values on their way into and out of a sandbox: plain data with exact types, as JSON text.

Encoded inside, by a process that the candidate may have taken over, and decoded outside. So the
decoder takes any bytes, makes nothing but plain data of the declared types, and runs nothing:
no pickle, no `eval`, no class by name. Only the standard library is imported here, for the zygote
loads this file too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

LARGEST = 1 << 20
"""Bytes that a value may take as text."""
DEEPEST = 100
"""Levels to which values may be nested."""


_to_text = json.JSONEncoder(separators=(",", ":")).encode
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""It takes any bytes after a quote, so that no text makes it look twice at one."""


class ValueTextError(ValueError):
    """The value is no plain data, or the bytes are no value."""


def encode(value: object) -> bytes:
    """Write a value as text.

    Plain data are None, bool, int of any size, float (with nan, infinities and -0.0), complex,
    str, bytes, bytearray, list, tuple, set, frozenset and dict, nested. A subclass of these is
    none of them: what it would say of itself is not its value.

    Raises:
        ValueTextError: If it is no plain data, is nested deeper than `DEEPEST`, or takes more
            than `LARGEST` bytes.

    Example:
        >>> encode((1, True, 0.5))
        b'["t",["i","1"],true,["f","0x1.0000000000000p-1"]]'
    """
    text = _to_text(_plain(value, 0, [LARGEST])).encode()
    if len(text) > LARGEST:
        raise ValueTextError(f"it takes {len(text)} bytes; at most {LARGEST} are told")
    return text


def decode(text: bytes) -> Any:
    """Read a value that `encode` has written; any other bytes are refused.

    Raises:
        ValueTextError: If the bytes are no value.

    Example:
        >>> decode(encode({"a": [1, 1.0, True, b"x"]}))
        {'a': [1, 1.0, True, b'x']}
    """
    if len(text) > LARGEST:
        raise ValueTextError(f"it takes more than {LARGEST} bytes")
    _check_depth(text)
    try:
        found = json.loads(
            text, parse_int=_refuse, parse_float=_refuse, parse_constant=_refuse,
            object_pairs_hook=_refuse,
        )  # fmt: skip
        return _value(found, 0)
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueTextError(f"no value: {str(error)[:100]}") from None


def restore(text: str) -> Any:
    """Read a value that `encode` has written on this side; of others, only `decode` may.

    Example:
        >>> restore('["t",["i","1"],true]')
        (1, True)
    """
    return _value(json.loads(text), 0)


def _check_depth(text: bytes) -> None:
    """Refuse what is nested so deeply that reading it would use up the stack of this process."""
    depth = 0
    for bracket in re.findall(rb"[\[\]{}]", _STRING.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST + 1:
            raise ValueTextError(f"it is nested deeper than {DEEPEST} levels")


def _refuse(*_: object) -> Any:
    raise ValueTextError("numbers and objects are not written so")


def _plain(value: Any, depth: int, room: list[int]) -> Any:
    """A value as lists, texts, booleans and null."""
    if depth > DEEPEST:
        raise ValueTextError(f"it is nested deeper than {DEEPEST} levels")
    room[0] -= 1
    if room[0] < 0:
        raise ValueTextError(f"it takes more than {LARGEST} bytes")
    kind = type(value)
    if value is None or kind is bool:
        return value
    leaf = _LEAVES.get(kind)
    if leaf is not None:
        return leaf(value)
    mark = _MARKS.get(kind)
    if mark is None:
        raise ValueTextError(f"an object of type {kind.__name__[:100]!r} is no plain data")
    if kind is dict:
        value = [item for pair in value.items() for item in pair]
    return [mark, *(_plain(item, depth + 1, room) for item in value)]


def _text(value: Any) -> str:
    if len(value) > LARGEST:
        raise ValueTextError(f"it takes more than {LARGEST} bytes")
    return str(value)


def _int(value: Any) -> list[str]:
    if value.bit_length() > 4 * LARGEST:
        raise ValueTextError(f"it takes more than {LARGEST} bytes")
    return ["i", format(value, "x")]


def _bytes(mark: str) -> Callable[[Any], list[str]]:
    return lambda value: [mark, _text(value[: LARGEST + 1].hex())]


_LEAVES: dict[type, Callable[[Any], Any]] = {
    str: _text,
    int: _int,
    float: lambda value: ["f", value.hex()],
    complex: lambda value: ["c", value.real.hex(), value.imag.hex()],
    bytes: _bytes("b"),
    bytearray: _bytes("a"),
}
_MARKS: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z", dict: "d"}
_READ_LEAVES: dict[str, Callable[[str], Any]] = {
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "b": bytes.fromhex,
    "a": bytearray.fromhex,
}
_READ_MARKS: dict[str, Callable[[list[Any]], Any]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "z": frozenset,
}


_HASHED = {"s", "z", "d"}
_MOST_ALIKE = 50


def _check_hashes(values: list[Any]) -> None:
    """Refuse what was chosen to have one hash: a set of it would take hours to build."""
    hashes = sorted(map(hash, values))
    if any(map(int.__eq__, hashes, hashes[_MOST_ALIKE:])):
        raise ValueTextError("too many members of a set have the same hash")


def _value(found: Any, depth: int) -> Any:
    """The value that lists, texts, booleans and null stand for."""
    if depth > DEEPEST:
        raise ValueTextError(f"it is nested deeper than {DEEPEST} levels")
    if found is None or isinstance(found, (bool, str)):
        return found
    mark, *items = found
    if mark in _READ_LEAVES:
        (text,) = items
        return _READ_LEAVES[mark](text)
    if mark == "c":
        real, imaginary = items
        return complex(float.fromhex(real), float.fromhex(imaginary))
    values = [_value(item, depth + 1) for item in items]
    if mark in _HASHED:
        _check_hashes(values[:: 2 if mark == "d" else 1])
    if mark == "d":
        return dict(zip(values[::2], values[1::2], strict=True))
    return _READ_MARKS[mark](values) if mark in _READ_MARKS else _refuse()
