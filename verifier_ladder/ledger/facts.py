"""Facts: what an entry tells beside its records, and what a program can have written there.

Whoever can write to the database can append entries, and the honest program signs them. Those that
are read as a campaign opens or goes on must be of the form that programs write, or reading them is
an error that names the entry; so whoever reads facts needs no guard of his own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Final

from verifier_ladder.arguments import checked_value
from verifier_ladder.budget import TOTAL
from verifier_ladder.exchange import verdict_from
from verifier_ladder.resource import Resource
from verifier_ladder.tier import Tier

_PLATE: Final = re.compile(r"\w{1,80}-\d{1,9}", re.ASCII)
_WELL: Final = re.compile(r"[A-Z]\d{1,2}", re.ASCII)
_CONTROL: Final = "control:"
_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "cancel": {
        "run": "str | None", "step": "int | None", "positions": "list[int] | None",
        "at_work": "bool",
    },
    "cancelled": {"request": "int", "samples": "int", "checks": "int"},
    "reading": {"by": "str", "acts": "list"},
    "approval": {"wells": "int"},
    "plan": {"horizon": "int"},
    "limits": {"accounts": "list"},
    "alarm": {
        "stratum": "str", "direction": "Literal[overrated, underrated, unsure]", "audits": "int",
        "winners": "list",
    },
    "alert": {"to": "str", "cause": "str", "text": "str"},
    "belief": {"keys": "list[str]", "lessons": "Mapping[str, Any]", "costs": "list"},
    "shadow": {"run": "str", "step": "int", "samples": "int", "reason": "str"},
    "transcript": {"run": "str", "groups": "Mapping[str, Any]", "samples": "list"},
    "surrogate": {
        "labels": "int", "trained": "int", "speaks": "Mapping[str, Any] | None",
        "shadow": "Mapping[str, Any] | None", "reviews": "Mapping[str, Any]",
    },
}  # fmt: skip
"""Facts that an entry of a kind always has, as annotations."""
_WINNER: Final = frozenset({"sample", "z", "estimate", "truth", "group"})
_TABLES: Final = ("scores", "deviations", "features", "target")
_NUMBERS: Final = frozenset({float, int, type(None)})
"""Types of a table's numbers; None is one that is not known."""
_REVIEWED: Final = 2
"""Numbers of a review after the first."""
_UNDECIDED: Final = "undecided_after"


def check_facts(kind: str, facts: Any) -> None:
    """Refuse facts that no program writes in an entry of this kind.

    Raises:
        ValueError: If they are not of the form; `KeyError`, `TypeError`, `ConfigError` and
            `VerifierError`, if that is how it shows.

    Example:
        >>> check_facts("plan", {"horizon": 20_000})
        >>> check_facts("plan", {})
        Traceback (most recent call last):
        KeyError: 'horizon'
    """
    checked_value("facts", kind, facts, "Mapping[str, Any]")
    for name, annotation in _FORMS.get(kind, {}).items():
        checked_value(kind, name, facts[name], annotation)
    if _UNDECIDED in facts:
        checked_value(kind, _UNDECIDED, facts[_UNDECIDED], "int", 0)
    if kind in _DEEPER:
        _DEEPER[kind](facts)


def _check_reading(facts: Mapping[str, Any]) -> None:
    for act in facts["acts"]:
        bytes.fromhex(act["case"])
        checked_value("act", "claim", act.get("claim", 0), "int")
        what = checked_value("act", "act", act["act"], _ACTS)
        if what == "claim":
            checked_value("claim", "seat", act["seat"], "int", 1)
            checked_value("claim", "lease", act["lease"], "float", 0)
        elif what == "answer":
            verdict_from(act["said"])


_ACTS: Final = "Literal[claim, skip, release, answer, withdraw, unblind]"


def _check_batch(facts: Mapping[str, Any]) -> None:
    if "listed" in facts:
        _match(_PLATE, f"{facts['listed']}-1")
        for case in checked_value("batch", "cases", facts["cases"], "list[str]"):
            bytes.fromhex(case)
        return
    for plate, wells in facts["plates"].items():
        _match(_PLATE, plate)
        for well, held in wells.items():
            _match(_WELL, well)
            if not held.startswith(_CONTROL):
                bytes.fromhex(held)


def _check_limits(facts: Mapping[str, Any]) -> None:
    for tier, resource, word in facts["accounts"]:
        Resource(resource)
        checked_value("limits", "account", word, "Literal[closed, limited, unlimited]")
        if tier != TOTAL:
            Tier(tier)


def _check_alarm(facts: Mapping[str, Any]) -> None:
    for sample in (facts["first"], facts["last"]):
        _check_sample(sample)
    for winner in facts["winners"]:
        _check_sample(winner["sample"])
        checked_value("winner", "group", winner.get("group", ""), "str")
        _check_numbers([winner[name] for name in ("z", "estimate", "truth")])
        if odd := winner.keys() - _WINNER:
            raise ValueError(f"no winner has {min(odd)!r:.60}")
    _check_numbers([facts.get("error")])


def _check_belief(facts: Mapping[str, Any]) -> None:
    for key in facts["keys"]:
        bytes.fromhex(key)
    for key, is_open in facts.get("turns", ()):
        bytes.fromhex(key)
        checked_value("belief", "turn", is_open, "bool")
    _check_lessons(facts["lessons"])
    if "waiting" in facts:
        _check_lessons(facts["waiting"])
    for told in facts["costs"]:
        checked_value("costs", "verifier", told["verifier"], "str")
        checked_value("costs", "columns", told["columns"], "list")


def _check_lessons(stored: Mapping[str, Any]) -> None:
    count = len(list(map(bytes.fromhex, stored["keys"])))
    for name in _TABLES:
        _check_table(name, stored[name], count)
    for row in stored.get("rejected", ()):
        if row not in range(count):
            raise ValueError(f"there is no lesson {row!r:.60}")
    if len(stored["audits"]) != count:
        raise ValueError(f"it has audits of {len(stored['audits'])} lessons instead of {count}")
    for audit in filter(None, stored["audits"]):
        _check_sample(audit["sample"])
        chance, number, estimate, factor, mean, deviation, (verifier, is_rejected) = audit["draw"]
        checked_value("draw", "verifier", verifier, "str")
        checked_value("draw", "is_rejected", is_rejected, "bool")
        _check_numbers([chance, number, estimate, factor, mean, deviation])
        _check_numbers([audit["surprise"], audit["truth"]])


def _check_table(name: str, rows: Any, count: int) -> None:
    """Refuse what is no table of so many rows."""
    if len(rows) != count or len(set(map(len, rows))) > 1:
        raise ValueError(f"its {name} are not those of {count} lessons")
    _check_numbers(chain.from_iterable(rows))


def _check_numbers(values: Iterable[Any]) -> None:
    if not _NUMBERS.issuperset(map(type, values)):
        raise TypeError("something stands where a number has to")


def _check_transcript(facts: Mapping[str, Any]) -> None:
    for known in facts["groups"].values():
        checked_value("transcript", "group", known, "Mapping[str, Any]")
    for step, position, known in facts["samples"]:
        checked_value("transcript", "step", step, "int")
        checked_value("transcript", "position", position, "int")
        checked_value("transcript", "sample", known, "Mapping[str, Any]")


def _check_sample(sample: Any) -> None:
    run, step, position = sample
    checked_value("sample", "run", run, "str")
    checked_value("sample", "step", step, "int")
    checked_value("sample", "position", position, "int")


def _check_surrogate(facts: Mapping[str, Any]) -> None:
    for version in (facts["speaks"], facts["shadow"]):
        if version is not None:
            checked_value("version", "labels", version["labels"], "int", 1)
            for name in ("name", "weights.npy", "trained.npy"):
                bytes.fromhex(version[name])
    for found in facts["reviews"].values():
        pairs, *rest = found
        checked_value("review", "pairs", pairs, "float", 0)
        _check_numbers(rest)
        if len(rest) != _REVIEWED:
            raise ValueError(f"a review has {len(rest) + 1} numbers")


def _match(form: re.Pattern[str], text: str) -> None:
    if not form.fullmatch(text):
        raise ValueError(f"{text!r:.60} names nothing that a batch is put on")


_DEEPER: Final[Mapping[str, Callable[[Mapping[str, Any]], None]]] = {
    "reading": _check_reading, "batch": _check_batch, "limits": _check_limits,
    "alarm": _check_alarm, "belief": _check_belief, "transcript": _check_transcript,
    "surrogate": _check_surrogate,
}  # fmt: skip
