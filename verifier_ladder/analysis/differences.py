"""Differences: in what two ladders, or two runs, are not the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from verifier_ladder.text import mended, printable

_LONGEST = 200
_DERIVED = frozenset({"digest"})
"""What follows from the rest of a verifier."""


class Difference(NamedTuple):
    """One thing that is not the same on two sides."""

    where: tuple[str, ...]
    """The names that lead to it, such as `verifiers`, `xtb`, `version`."""
    one: str | None
    """What it is on the first side, in words; None where that has none."""
    other: str | None


def ladder_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """In what two ladders differ, as the ledger records them; verifiers are told apart by name.

    Example:
        >>> xtb = {"name": "xtb", "version": "1", "tier": "simulation"}
        >>> ladder_differences({"verifiers": [xtb]}, {"verifiers": [{**xtb, "version": "2"}]})
        [Difference(where=('verifiers', 'xtb', 'version'), one='1', other='2')]
    """
    return differences(_named(one), _named(other))


def differences(
    one: Mapping[str, Any], other: Mapping[str, Any], where: tuple[str, ...] = ()
) -> list[Difference]:
    """In what two records differ, name by name.

    Example:
        >>> differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2})
        [Difference(where=('a', 'b'), one='1', other='3')]
    """
    found = []
    for name in dict.fromkeys([*one, *other]):
        mine, its, place = one.get(name), other.get(name), (*where, str(name))
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            found += differences(mine, its, place)
        elif mine != its:
            found.append(Difference(place, _words(mine), _words(its)))
    return found


def _named(ladder: Mapping[str, Any]) -> dict[str, Any]:
    """A ladder whose verifiers stand under their names."""
    verifiers = {
        str(verifier.get("name")): {
            name: value for name, value in verifier.items() if name not in {"name", *_DERIVED}
        }
        for verifier in ladder.get("verifiers", ())
    }
    return {**ladder, "verifiers": verifiers}


def _words(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else printable(value, _LONGEST)
    if isinstance(value, Mapping) and {"version", "tier"} <= value.keys():
        return printable(f"version {value['version']}, {value['tier']}", _LONGEST)
    return printable(orjson.dumps(mended(value), default=str).decode(), _LONGEST)
