"""Columns: many values of one meaning, written short.

A column is a JSON list, or an object that says how the list is made:

- `{"all": value}`: every value is this one;
- `{"from": first}`: whole numbers that count up by one;
- `{"keys": hex}`: digests of 32 bytes, one after the other;
- `{"same": name}`: equal to an earlier column of digests of the same entry.

The number of values stands once, with the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from math import copysign, isfinite, isnan, nan
from typing import Any

from verifier_ladder.ledger.values import is_marked, pack, unpack

_PLAIN = {str, int, float, bool, type(None)}
_WIDTH = 32
_NAN = pack(nan)
_LARGEST = 2**63


def listed(values: Sequence[Any]) -> Sequence[Any]:
    """Python values of a column that may be an array."""
    if isinstance(values, (list, tuple)):
        return values
    tolist = getattr(values, "tolist", None)
    return tolist() if tolist is not None else list(values)


def is_constant(values: Sequence[Any]) -> bool:
    """Whether one value stands for all, in type and sign too."""
    first = values[0]
    if values[-1] is not first and values[-1] != first:
        return False
    try:
        if values.count(first) != len(values):
            return False
    except (TypeError, ValueError):  # Values that can't be compared, such as arrays.
        return False
    return isinstance(first, (str, bytes)) or _is_one_kind(values)


def _is_one_kind(values: Sequence[Any]) -> bool:
    """Whether equal values are the same: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    first = values[0]
    if isinstance(first, (tuple, list, Mapping)):  # Their parts may differ in type.
        return len(set(map(id, values))) == 1 or not first
    if len(set(map(type, values))) > 1:
        return False
    if first == 0 and isinstance(first, float):
        return len(set(map(id, values))) == 1 or len(set(map(copysign, repeat(1.0), values))) == 1
    return True


def pack_column(values: Sequence[Any]) -> Any:
    """Write a column of any values.

    Example:
        >>> pack_column(["a", "a"]), pack_column([1, 2])
        ({'all': 'a'}, [1, 2])
    """
    values = listed(values)
    if not values:
        return []
    if is_constant(values):
        return {"all": pack(values[0])}
    if _is_plain(values):
        return values
    if set(map(type, values)) == {float}:  # What is not known is NaN.
        return [v if v - v == 0.0 else _NAN if isnan(v) else pack(v) for v in values]
    return [pack(value) for value in values]


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether orjson writes the values so that they come back the same."""
    types = set(map(type, values))
    if types == {float}:
        return bool(isfinite(sum(values)))
    if types == {str}:
        return _is_text(values)
    if not types <= _PLAIN:
        return False
    if float in types:
        numbers = [value for value in values if value is not None]
        return types == {float, type(None)} and bool(isfinite(sum(numbers)))
    whole = [value for value in values if type(value) is int]
    if whole and not -_LARGEST <= min(whole) <= max(whole) < _LARGEST:
        return False
    return str not in types or _is_text([value for value in values if type(value) is str])


def _is_text(values: Sequence[str]) -> bool:
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def pack_shared(values: Sequence[Any], write: Callable[[Any], Any]) -> list[Any]:
    """Write a column of which many values are one object: each object is written once.

    Example:
        >>> pack_shared([(1,), (1, 2)], list)
        [[1], [1, 2]]
    """
    ids = list(map(id, values))
    written = {key: write(value) for key, value in dict(zip(ids, values, strict=True)).items()}
    return list(map(written.__getitem__, ids))


def unpack_column(column: Any, count: int) -> list[Any]:
    """Read a column of any values."""
    if isinstance(column, list):
        return list(map(unpack, column)) if is_marked(column) else column
    if "from" in column:
        return list(range(column["from"], column["from"] + count))
    return [unpack(column["all"])] * count


def pack_counting(values: Sequence[int]) -> Any:
    """Write whole numbers that mostly count up by one."""
    values = listed(values)
    if len(values) > 1 and isinstance(values[0], int):
        first = values[0]
        if values[-1] - first == len(values) - 1 and list(values) == list(
            range(first, first + len(values))
        ):
            return {"from": int(first)}
    return pack_column(values)


class KeyColumns:
    """The columns of digests of one entry; equal ones are written once."""

    def __init__(self) -> None:
        """Start an entry."""
        self._known: dict[str, list[bytes]] = {}

    def pack(self, name: str, keys: Sequence[bytes], *, is_written_out: bool = False) -> Any:
        """Write a column of digests.

        Args:
            name: What later columns may refer to.
            keys: The digests.
            is_written_out: Whether equal ones are written as often as they are there.
        """
        keys = list(keys)
        for other, known in self._known.items():
            if keys == known:
                return {"same": other}
        self._known[name] = keys
        if not keys or set(map(len, keys)) != {_WIDTH}:
            return pack_column(keys)
        if len(keys) > 1 and is_constant(keys) and not is_written_out:
            return {"all": pack(keys[0])}
        return {"keys": b"".join(keys).hex()}

    def unpack(self, name: str, column: Any, count: int) -> list[bytes]:
        """Read a column of digests."""
        if isinstance(column, dict) and "same" in column:
            return self._known[column["same"]]
        if isinstance(column, dict) and "keys" in column:
            joined = bytes.fromhex(column["keys"])
            keys = [joined[at : at + _WIDTH] for at in range(0, len(joined), _WIDTH)]
        else:
            # Digits are left where the column was sealed.
            keys = [
                bytes.fromhex(key) if isinstance(key, str) else key
                for key in unpack_column(column, count)
            ]
        self._known[name] = keys
        return keys
