"""Reverifying: a newer version of a verifier looks at the candidates of an older one.

Nothing is replaced: a verdict's key holds the version, so both stand in the ledger side by side,
and earlier rewards stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from verifier_ladder.campaign import Campaign
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.scheduler.candidates import candidate_of
from verifier_ladder.summary.versions import VersionReport, compare_versions
from verifier_ladder.verifiers import Verifier

_BATCH = 1024


def reverify(
    ledger: Ledger,
    verifier: Verifier,
    *,
    old: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
) -> VersionReport:
    """Have a verifier look at what another version of it has answered about, and compare the two.

    It runs as a campaign of its own, `reverify-NAME-VERSION`, so that its costs stand apart. What
    was interrupted goes on when it is called again; what is known is not paid for twice.

    Args:
        ledger: The ledger.
        verifier: The verifier, in its newer version.
        old: The version to compare with; by default the one that answered last.
        limit: How many candidates to look at, the latest first; all by default.
        workers: Worker processes; one per core by default.

    Raises:
        ConfigError: If no other version has answered, or none of its candidates can be read
            from the ledger.
    """
    old = old or _last_version(ledger, verifier)
    if old == verifier.version:
        raise ConfigError(
            f"{verifier.name} {old} is the version that has answered; raise the version of the "
            "verifier when its code changes"
        )
    candidates = list(_candidates(ledger, verifier, old))
    if not candidates:
        raise ConfigError(
            f"the ledger has no candidates that {verifier.name} {old} has answered about"
        )
    chosen = candidates[-limit:] if limit else candidates
    primary = copy(verifier)
    primary.role = "primary"
    ladder = Ladder(f"reverify {verifier.name}", [primary])
    name = f"reverify-{verifier.name}-{verifier.version}"
    with Campaign.open(name, ladder=ladder, ledger=ledger, workers=workers) as campaign:
        for first in range(0, len(chosen), _BATCH):
            campaign.score(
                chosen[first : first + _BATCH], more=max(0, len(chosen) - first - _BATCH)
            )
        campaign.drain()
    return compare_versions(ledger, verifier.name, old, verifier.version)


def _last_version(ledger: Ledger, verifier: Verifier) -> str:
    """The other version that was the last to answer."""
    last = ""
    for entry in ledger.entries():
        for row in ledger.read(entry).verdicts:
            if row.verifier == verifier.name and row.version != verifier.version:
                last = row.version
    if not last:
        raise ConfigError(f"the ledger has no answers of another version of {verifier.name}")
    return last


def _candidates(ledger: Ledger, verifier: Verifier, old: str) -> Iterator[Candidate]:
    """What the older version has answered about, in the order of its answers.

    Tasks and turns stand in the queue's rows only, so where a verifier reads them, checks of the
    fast tier can't be repeated.
    """
    needs_more = verifier.task_fields != () or verifier.reads_turns
    forms: dict[bytes, Candidate] = {}
    told: dict[bytes, bytes] = {}
    for entry in ledger.entries():
        block = ledger.read(entry)
        for row in block.candidates:
            form = row.content if row.canonical is None else row.canonical
            forms.setdefault(row.content_key, Candidate(row.kind, form))
        for said in block.verdicts:
            if (said.verifier, said.version) == (verifier.name, old) and said.verdict.is_answer:
                told[said.check_key] = said.content_key
    if needs_more:
        for check in ledger.checks(keys=list(told)):
            yield candidate_of(check.payload)
        return
    for content in dict.fromkeys(told.values()):
        if content in forms:
            yield forms[content]
