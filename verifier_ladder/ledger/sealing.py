"""Sealing: what candidates hold and verifiers say is logged as salted hashes only.

In a sealed ledger the parts of an entry hold `{"$sealed": HASH}` in the place of such a value, so
the signed log does not give it away. Behind the parts, and outside the log, stand the values with
their salts: who has them reads the entry as before, and shows to others as much as he likes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping, Sequence
from secrets import token_bytes
from typing import Any, Final

import orjson

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.offline import (
    SALT,
    SEALED,
    Opening,
    openings_of,
    parts_of,
    seal_hash,
    seals_in,
)

KIND: Final = "sealing"
"""Kind of the entry from which on a ledger is sealed."""
CAMPAIGN: Final = "sealing/"
"""Campaign of that entry, by which it is found; no campaign can be called so."""

_DIGITS = 64
_SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "candidates": {
        "raw_key": "keys", "content_key": "keys", "content": "content", "canonical": "content",
        "verdict": "feedback",
    },
    "verdicts": {
        "check_key": "keys", "content_key": "keys", "reason": "feedback", "feedback": "feedback",
        "turns": "feedback", "evidence": "evidence", "artifacts": "evidence",
    },
    "samples": {
        "contents": "keys", "checks": "keys", "tasks": "groups", "turns": "groups",
        "groups": "groups",
    },
    "rewards": {"reason": "feedback", "feedback": "feedback", "turns": "feedback"},
}  # fmt: skip
"""Which columns are sealed, and under which name they are shown."""
FACTS: Final = "facts"
NAMES: Final = ("keys", "content", "feedback", "evidence", "groups", FACTS)
"""What can be shown of sealed entries."""
_LINKED = {"keys", "groups"}
"""Of these, equal values of an entry are sealed alike: it can be seen what belongs together."""
_OPEN_FACTS = {"campaign", "run", "source", "restore"}
"""Kinds of entries whose facts tell what was done, and nothing of candidates."""
_OPEN_NAMES = {"took", "worked", "waited", "charged"}
"""Facts of any entry that tell how long checks took and what they were charged."""


class Seal:
    """Seals one entry, part by part.

    Example:
        >>> seal = Seal("score")
        >>> sealed = seal.part({"candidates": {"count": 1, "content": {"all": "CCO"}}})
        >>> [text for salt, text in seal.openings]
        ['"CCO"']
    """

    def __init__(self, kind: str) -> None:
        """Begin an entry.

        Args:
            kind: The entry's kind.
        """
        self._kind = kind
        self._linked: dict[str, Mapping[str, str]] = {}
        self.openings: list[Opening] = []
        """What opens all that was sealed."""

    def part(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Seal what is to be sealed in a part."""
        return {name: self._section(name, section) for name, section in part.items()}

    def facts(self, facts: Any) -> Any:
        """Seal the facts of the entry, as packed."""
        if self._kind in _OPEN_FACTS or not isinstance(facts, dict):
            return facts
        return {
            name: fact if name in _OPEN_NAMES else self._value(fact, FACTS)
            for name, fact in facts.items()
        }

    def _section(self, name: str, section: Any) -> Any:
        if name not in _SECTIONS:
            return section
        sealed = {
            field: self._column(section[field], shown)
            for field, shown in _SECTIONS[name].items()
            if field in section
        }
        return {**section, **sealed}

    def _column(self, column: Any, name: str) -> Any:
        if isinstance(column, dict):
            if "all" in column:
                return {"all": self._value(column["all"], name)}
            if "keys" not in column:
                return column  # The same as another column, which is sealed.
            digits = column["keys"]
            column = [digits[at : at + _DIGITS] for at in range(0, len(digits), _DIGITS)]
        return [self._value(value, name) for value in column]

    def _value(self, value: Any, name: str) -> Mapping[str, str]:
        if name == "keys" and isinstance(value, dict):
            value = b64decode(value["$bytes"]).hex()  # One key, one spelling.
        text = orjson.dumps(value).decode()
        if name in _LINKED and (known := self._linked.get(text)) is not None:
            return known
        salt = token_bytes(SALT)
        self.openings.append((salt.hex(), text))
        sealed = {SEALED: seal_hash(salt, text)}
        if name in _LINKED:
            self._linked[text] = sealed
        return sealed


def chosen(names: Iterable[str]) -> frozenset[str]:
    """Which sealed values are shown.

    Args:
        names: Some of `NAMES`, or `all`.

    Raises:
        ConfigError: If there is no such name.

    Example:
        >>> sorted(chosen(["keys", "content"]))
        ['content', 'keys']
    """
    asked = frozenset(names)
    if unknown := sorted(asked - {*NAMES, "all"}):
        raise ConfigError(
            f"sealed values are not called {', '.join(unknown)}; they are {', '.join(NAMES)}, "
            "and all of them"
        )
    return frozenset(NAMES) if "all" in asked else asked


def is_sealed(body: bytes) -> bool:
    """Whether values of an entry are sealed."""
    return b"\n\n" in body


def bare(body: bytes) -> bytes:
    """The body of an entry as it is logged: without what opens its seals."""
    return body.partition(b"\n\n")[0]


def revealing(body: bytes, names: Collection[str]) -> bytes:
    """The body of an entry with what opens these values, and no others."""
    openings = openings_for(body, names)
    return b"\n\n".join([bare(body), orjson.dumps(openings)]) if openings else bare(body)


def openings_for(
    body: bytes, names: Collection[str], records: Sequence[Mapping[str, Any]] | None = None
) -> list[Opening]:
    """What opens values of an entry.

    Args:
        body: The entry.
        names: Which values, from `NAMES`.
        records: Only in these records, as `offline.records_of` gives them; None for all.
    """
    if not is_sealed(body) or not names:
        return []
    if records is None:
        found = [orjson.loads(part) for part in parts_of(body)[1]]
    else:
        found = [{r["section"].partition(".")[0]: r} for r in records]
    wanted = {seal for part in found for seal in _wanted(part, names)}
    return [
        (salt, text)
        for salt, text in openings_of(body)
        if seal_hash(bytes.fromhex(salt), text) in wanted
    ]


def _wanted(part: Mapping[str, Any], names: Collection[str]) -> Iterable[str]:
    for section, fields in part.items():
        if section == FACTS and FACTS in names:
            yield from seals_in(fields)
        for field, name in _SECTIONS.get(section, {}).items():
            if name in names and field in fields:
                yield from seals_in(fields[field])
