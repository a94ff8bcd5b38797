"""Statements: verdicts as in-toto attestations, for programs that judge software that way.

Each is an in-toto Statement v1 with a SLSA verification summary: which verifier looked at which
candidate, under which ladder, with which result. They are not signed one by one: `log` tells at
which place of which signed log the verdict stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.log import Leaf, SqlLog
from verifier_ladder.ledger.records import VerdictRow
from verifier_ladder.ledger.sealing import is_sealed
from verifier_ladder.ledger.values import pack
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome

STATEMENT = "https://in-toto.io/Statement/v1"
SUMMARY = "https://slsa.dev/verification_summary/v1"
_RESULTS = {Outcome.ACCEPT: "PASSED", Outcome.REJECT: "FAILED"}


def statements(
    log: SqlLog, campaign: str | None = None, reveal: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Every accept and reject as a statement, in the order of the log.

    Abstentions have no result, so they have no statement. Which verdicts of lower tiers a verdict
    follows is remembered for each candidate, about a hundred bytes.

    Args:
        log: The ledger; entries that wait for their place get it first.
        campaign: Only this campaign's; None for all.
        reveal: Which sealed values may be told, from `sealing.NAMES`.

    Raises:
        ConfigError: If the ledger is sealed and keys may not be told: a statement is about one.
    """
    if log.is_sealed and "keys" not in reveal:
        raise ConfigError(
            "an in-toto statement names its candidate by a key, and in this ledger keys are "
            "sealed; give --reveal keys, or hand over proofs (`vladder ledger prove`)"
        )
    if not log.newest():
        return
    origin, size, *_ = log.signed()[1]
    ladders = {row.name: row.ladder_digest for row in log.campaigns()}
    before: dict[bytes, list[tuple[int, bytes]]] = {}
    for leaf in log.leaves(until=size):
        if campaign not in {None, leaf.entry.campaign}:
            continue
        for row in log.read(leaf.entry).verdicts:
            if row.verdict.outcome in _RESULTS:
                known = before.setdefault(row.content_key, [])
                lower = [digest for tier, digest in known if tier < row.tier]
                known.append((row.tier, leaf.entry.leaf))
                place = {"origin": origin, "index": leaf.place, "leaf": leaf.entry.leaf.hex()}
                if is_sealed(leaf.entry.body) and "feedback" not in reveal:
                    row = row._replace(verdict=replace(row.verdict, reason=""))  # noqa: PLW2901
                yield _statement(leaf, row, ladders, lower, place)


def _statement(
    leaf: Leaf,
    row: VerdictRow,
    ladders: Mapping[str, bytes],
    lower: Sequence[bytes],
    place: Mapping[str, Any],
) -> dict[str, Any]:
    subject = row.content_key.hex()
    campaign, verdict = leaf.entry.campaign, row.verdict
    passed = verdict.outcome is Outcome.ACCEPT
    policy: dict[str, Any] = {"uri": f"urn:verifier-ladder:campaign:{campaign}"}
    if campaign in ladders:
        policy["digest"] = {"sha256": ladders[campaign].hex()}
    said = {
        "check": row.check_key.hex(), "score": verdict.score, "uncertainty": verdict.uncertainty,
        "unit": verdict.unit, "reason": verdict.reason,
    }  # fmt: skip
    return {
        "_type": STATEMENT,
        "subject": [{"name": f"sha256:{subject}", "digest": {"sha256": subject}}],
        "predicateType": SUMMARY,
        "predicate": {
            "verifier": {
                "id": f"urn:verifier-ladder:verifier:{row.verifier}",
                "version": {row.verifier: row.version},
            },
            "timeVerified": _moment(leaf.entry.recorded_at),
            "resourceUri": f"urn:sha256:{subject}",
            "policy": policy,
            "inputAttestations": [
                {
                    "uri": f"urn:verifier-ladder:entry:{digest.hex()}",
                    "digest": {"sha256": digest.hex()},
                }
                for digest in dict.fromkeys(lower)
            ],
            "verificationResult": _RESULTS[verdict.outcome],
            "verifiedLevels": [f"VERIFIER_LADDER_{Tier(row.tier).name}"] if passed else [],
            "verdict": pack(said),
            "log": dict(place),
        },
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
