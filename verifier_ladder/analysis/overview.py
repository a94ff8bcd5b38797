"""Overviews: where a large campaign stands, told at once.

A summary reads every entry; of a million samples that takes half a minute. An overview is the
campaign's totals, with the open cases and the best by the top tier's answers where these are few.
What only a summary can tell is left out, and said to be.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any, Final, NamedTuple

from verifier_ladder.analysis.totals import CampaignTotals, campaign_totals
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.records import CampaignRow, CheckRow, CheckState
from verifier_ladder.reward import definitive_of
from verifier_ladder.status import TierStatus, tiers_of
from verifier_ladder.summary import CandidateSummary, OpenCase, Score, Summary, TierSummary
from verifier_ladder.summary.reading import open_cases
from verifier_ladder.summary.records import plain
from verifier_ladder.target import sign_of
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict

MOST_READ: Final = 5_000
"""Records of a campaign that is summed up by reading it: that takes a few tenths of a second."""
MOST_JUDGED: Final = 5_000
"""Answers of the top tier among which the best are looked for."""
_BEST: Final = 10


class Best(NamedTuple):
    """A candidate that the ladder's top tier thinks much of."""

    key: str
    """Its content key, in hexadecimal."""
    content: str
    """Its canonical form; model-made text, to be escaped wherever it is shown."""
    score: Score
    """Of several checks that repeat each other, their mean."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Where a campaign stands, as far as it can be told without reading it."""

    totals: CampaignTotals
    cases: tuple[OpenCase, ...]
    best: tuple[Best, ...] | None
    """The best by what the top tier said; None where it has said too much to look through."""

    def as_json(self) -> dict[str, Any]:
        """What is known under the names of a summary, null for the rest; and what was counted."""
        told = self.totals
        counts, row, known, tiers = told.counts, told.row, told.counts.known, told.status.tiers
        return {
            **dict.fromkeys([*_names(Summary), "duplicates", "everything"]),
            "campaign": row.name, "ledger": told.ledger, "ladder": row.ladder,
            "created_at": row.created_at, "updated_at": told.updated_at,
            "entries": counts.extent.entries, "samples": counts.samples,
            "target": row.ladder.get("target") or {},
            "tiers": [self._tier(tier) for tier in tiers],
            "rewards": {
                "count": counts.samples, "unknown": None if known is None
                else counts.samples - known, "mean": counts.rewards.mean, "best": None,
                "revised": counts.revised,
            },
            "winner": self._winner(),
            "best": None if self.best is None else list(map(self._candidate, self.best)),
            "alarms": list(told.alarms), "cases": plain(self.cases),
            "runs": plain(told.runs),
            "budgets": [account.as_json() for account in told.status.budgets],
            "spent": told.spent, "checks": sum(told.checks(t.tier) for t in tiers),
            "resources": plain(told.resources()),
            "counted": counts.as_json(),
        }  # fmt: skip

    def _tier(self, tier: TierStatus) -> dict[str, Any]:
        told, made = tier._asdict(), self.totals
        listed = made.row.ladder.get("verifiers", ())
        return {
            **{name: told.get(name) for name in _names(TierSummary)},
            "tier": tier.tier.label, "failed": None, "failed_seconds": tier.failed,
            "verifiers": [f"{v['name']} {v['version']}" for v in listed
                          if v["tier"] == tier.tier.label],
            "checks": made.checks(tier.tier), "resources": plain(made.resources(tier.tier)),
        }  # fmt: skip

    def _winner(self) -> dict[str, Any] | None:
        """The best; not known among equals, for which was seen last stands in the entries only."""
        best = self.best or ()
        is_alone = len({one.score.value for one in best[:2]}) == len(best[:2])
        return self._candidate(best[0]) if best and is_alone else None

    def _candidate(self, best: Best) -> dict[str, Any]:
        top = self.totals.status.tiers[-1].tier.label
        return {
            **dict.fromkeys(_names(CandidateSummary)), "key": best.key, "content": best.content,
            "kind": str(self.totals.row.ladder.get("kind", "")), "known": best.score.value,
            "known_uncertainty": best.score.uncertainty, "scores": {top: plain(best.score)},
        }  # fmt: skip


def overview(ledger: Ledger, campaign: str) -> Overview:
    """Tell where a campaign stands without reading its entries.

    Args:
        ledger: The ledger.
        campaign: Name of the campaign.

    Raises:
        ConfigError: If the ledger has no campaign of this name.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> overview(ledger, "try").totals.spent
        0
    """
    told = campaign_totals(ledger, campaign)
    return Overview(told, open_cases(ledger, campaign), _best(ledger, told.row))


def _best(ledger: Ledger, row: CampaignRow) -> tuple[Best, ...] | None:
    """The best by the top tier's own answers to what was asked through the queue."""
    judge = _judge(row)
    if judge is None:
        return None
    said = {name: _said(ledger, row.name, name) for name in (judge, *_vetoes(row, judge))}
    if None in said.values():
        return None
    refused = {
        check.content_key for told in said.values() for check, verdict in told or ()
        if verdict.outcome is Outcome.REJECT
    }  # fmt: skip
    heard: dict[bytes, list[tuple[CheckRow, Verdict]]] = {}
    for check, verdict in said[judge] or ():
        if verdict.score is not None and check.content_key not in refused:
            heard.setdefault(check.content_key, []).append((check, verdict))
    sign = sign_of(row.ladder)
    scores = {key: _score(judge, [verdict for _, verdict in its]) for key, its in heard.items()}
    chosen = heapq.nsmallest(_BEST, scores, key=lambda key: (-sign * scores[key].value, key))
    texts = _texts(ledger, [heard[key][0][0].check_key for key in chosen])
    return tuple(Best(key.hex(), texts.get(key, ""), scores[key]) for key in chosen)


def _said(ledger: Ledger, campaign: str, verifier: str) -> list[tuple[CheckRow, Verdict]] | None:
    """What a verifier has answered through the queue; None where that is too much to look through.

    Of several versions only the last one's.
    """
    asked = ledger.checks(
        states=[CheckState.DONE], campaign=campaign, verifier=verifier, limit=MOST_JUDGED + 1,
        payloads=False,
    )  # fmt: skip
    if len(asked) > MOST_JUDGED:
        return None
    known = ledger.verdicts([check.check_key for check in asked])
    said = [(check, v) for check in asked if (v := known.get(check.check_key)) and v.is_answer]
    newest = {check.content_key: check.version for check, _ in said}
    return [(check, v) for check, v in said if check.version == newest[check.content_key]]


def _vetoes(row: CampaignRow, judge: str) -> list[str]:
    """Who else keeps a candidate that the judge has scored from being one of the best.

    They are the other verifiers of the top tier, and those whose rejects nobody overrules.
    """
    top, definitive = tiers_of(row)[-1], definitive_of(row.ladder)
    return [
        str(v["name"]) for v in row.ladder["verifiers"] if v["name"] != judge
        and v["tier"] != Tier.FAST.label and (v["tier"] == top.label or v["name"] in definitive)
    ]  # fmt: skip


def _judge(row: CampaignRow) -> str | None:
    """Whose score is what is known of a candidate once the top tier has answered.

    None if that tier judges at once, several verifiers score there, a score is made of parts, or
    it holds inside a group only.
    """
    top = next(iter(reversed(tiers_of(row))), Tier.FAST)
    scoring = [
        v for v in row.ladder["verifiers"] if v["tier"] == top.label and v.get("role") != "gate"
    ]
    is_made_of_parts = bool((row.ladder.get("reward") or {}).get("weights"))
    if top is Tier.FAST or len(scoring) != 1 or is_made_of_parts:
        return None
    return None if scoring[0].get("scope") == "group" else str(scoring[0]["name"])


def _score(verifier: str, said: Sequence[Verdict]) -> Score:
    value = fmean(verdict.score for verdict in said if verdict.score is not None)
    return Score(value, said[0].uncertainty if len(said) == 1 else None, said[0].unit, verifier)


def _texts(ledger: Ledger, checks: Sequence[bytes]) -> dict[bytes, str]:
    """What candidates hold, by content key, as the queue has it for their checks."""
    rows = ledger.checks(keys=checks) if checks else ()
    return {row.content_key: str(row.payload.get("content", "")) for row in rows}


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]
