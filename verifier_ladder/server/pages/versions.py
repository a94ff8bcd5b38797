"""Versions of verifiers: which there are, and two of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CampaignRow
from verifier_ladder.summary.versions import VersionReport, compare_versions

_MOST_CHANGES = 40


class Pair(NamedTuple):
    """Two versions of a verifier."""

    verifier: str
    old: str
    new: str


def known_versions(campaigns: Sequence[CampaignRow]) -> dict[str, list[str]]:
    """The versions of verifiers that campaigns name, of those that have several, by name.

    They come in the order in which campaigns named them first.
    """
    found: dict[str, dict[str, None]] = {}
    for row in campaigns:
        for each in row.ladder.get("verifiers") or ():
            known = found.setdefault(str(each.get("name", "")), {})
            known.setdefault(str(each.get("version", "")))
    return {name: list(known) for name, known in sorted(found.items()) if len(known) > 1}


class Versions:
    """Compares versions, and does so anew only when there are new entries: it reads all of them.

    **Threads** may share it.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Pair, tuple[int, VersionReport | str]] = {}
        self._lock = Lock()

    def __call__(self, ledger: Ledger, pair: Pair) -> VersionReport | str:
        """The two side by side; why not, where one has no answers."""
        newest = ledger.newest()
        with self._lock:
            entry, report = self._known.get(pair, (-1, ""))
        if entry == newest:
            return report
        try:
            report = compare_versions(ledger, *pair, largest=_MOST_CHANGES)
        except ConfigError as error:
            report = str(error)
        with self._lock:
            self._known[pair] = (newest, report)
        return report
