"""Scored files: the rewards of a file of rollouts, and what to tell about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from verifier_ladder.badrow import BadRow
from verifier_ladder.forecast import Forecast
from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.columns import Columns
from verifier_ladder.rollouts.passk import Estimate
from verifier_ladder.rollouts.records import RolloutFile
from verifier_ladder.rollouts.rows import rows
from verifier_ladder.rollouts.statistics import (
    DECLINED,
    Statistics,
    TierCost,
    has_passed,
    statistics_of,
)
from verifier_ladder.rollouts.table import PART, SCORE, as_frame, write_table
from verifier_ladder.text import printable

_NAMES = (
    "line", "group", "content", "task", "reward", "worth", "uncertainty", "passed", "tier",
    "revision", "pending", "reason", "failed_at", "error", "feedback", "turns",
)  # fmt: skip
MOST_BAD_ROWS = 10
"""How many bad rows the summary names; `bad_rows` holds all."""


@dataclass
class ScoredFile:
    """The rewards of a file of rollouts, in the order of its good rows."""

    file: RolloutFile
    campaign: str
    run: str
    ledger: str
    """Where the ledger lies."""
    columns: Columns
    lines: list[int] = field(default_factory=list)
    """The line of each reward."""
    groups: list[str] = field(default_factory=list)
    """The group of each reward."""
    rewards: list[Reward] = field(default_factory=list)
    """What a learner would be told. Where samples were drawn for the top tier they are corrected
    for the others: right in the mean, and no ranking."""
    worths: list[float | None] = field(default_factory=list)
    """The best that is known of each, on the same scale: by it a row passes."""
    bad_rows: list[BadRow] = field(default_factory=list)
    """Lines that could not be scored; they have no reward."""
    costs: list[TierCost] = field(default_factory=list)
    """What the campaign has spent so far, tier by tier."""
    plan: Forecast | None = None
    """What was foreseen before the first check, as `scheduler.foresight.foresee` tells it."""
    pass_at: float | None = None
    out: Path | None = None
    """Where the table was written."""

    @cached_property
    def statistics(self) -> Statistics:
        """Mean reward, pass@k, unknown rewards and costs."""
        return statistics_of(
            self.rewards, self.groups, pass_at=self.pass_at, costs=self.costs,
            worths=self._worths,
        )  # fmt: skip

    @property
    def _worths(self) -> list[float | None]:
        return self.worths or [reward.value for reward in self.rewards]

    @property
    def names(self) -> list[str]:
        """The columns of `records`, `frame` and the table; verifiers and scores at the end."""
        verifiers = sorted({name for reward in self.rewards for name in reward.components})
        scores = sorted({name for reward in self.rewards for name in reward.scores})
        return [
            *_NAMES, *(f"{SCORE}{name}" for name in verifiers),
            *(f"{PART}{name}" for name in scores),
        ]  # fmt: skip

    def records(self) -> Iterator[dict[str, Any]]:
        """One object per line of the file, bad lines too; the file is read again.

        A bad line has an `error` and no reward, and an unknown reward is None, never 0.
        """
        rewards = iter(zip(self.rewards, self._worths, strict=True))
        for row in rows(self.file, self.columns):
            if isinstance(row, BadRow):
                yield {"line": row.line, "error": row.reason}
                continue
            reward, worth = next(rewards)
            task = None if row.task is None else json.dumps(row.task)
            known = {"line": row.line, "group": row.group, "content": row.content, "task": task}
            yield {**known, **self._reward(reward, worth)}

    def _reward(self, reward: Reward, worth: float | None) -> dict[str, Any]:
        return {
            "reward": reward.value, "worth": worth, "uncertainty": reward.uncertainty,
            "passed": has_passed(reward, worth, self.statistics.threshold),
            "tier": None if reward.tier is None else reward.tier.label,
            "revision": reward.revision, "pending": reward.pending,
            "reason": reward.reason or None, "failed_at": reward.failed_at,
            "feedback": reward.feedback or None,
            "turns": json.dumps([t.as_json() for t in reward.turns]) if reward.turns else None,
            **{f"{SCORE}{name}": score for name, score in reward.components.items()},
            **{f"{PART}{name}": score for name, score in reward.scores.items()},
        }  # fmt: skip

    def frame(self) -> Any:
        """The records as a `pyarrow.Table`; `.to_pandas()` makes a data frame of it.

        Raises:
            ConfigError: If pyarrow is not installed, or the file was changed meanwhile.
        """
        return as_frame(self.names, self.records())

    def write(self, path: Path) -> None:
        """Write the records as Parquet, JSON lines or CSV, by the name's ending.

        Raises:
            ConfigError: If it can't be written.
        """
        write_table(path, self.names, self.records())
        self.out = path

    def as_json(self) -> dict[str, Any]:
        """What the summary tells, as JSON values."""
        return {
            "file": str(self.file.path), "campaign": self.campaign, "run": self.run,
            "ledger": self.ledger, "out": None if self.out is None else str(self.out),
            "columns": self.columns.as_json(), "assumed": list(self.columns.assumed),
            **self.statistics.as_json(), "plan": self.plan.as_json() if self.plan else None,
            "bad_rows": [row._asdict() for row in self.bad_rows],
        }  # fmt: skip

    def summary(self) -> str:
        """The result in words: mean, pass@k, what is unknown, costs, bad rows by line."""
        made = self.statistics
        name, bad = printable(self.file.path.name), _count(len(self.bad_rows), "bad row")
        lines = [
            f"{name}: {_count(made.rows, 'row')} scored in {_count(made.groups, 'group')}, {bad}",
            *(f"  assumed: {printable(text, None)}" for text in self.columns.assumed),
            *_rewards(made), *_passes(made), *_unknown(made), *_costs(made), *self._bad(),
            self._kept(),
        ]  # fmt: skip
        if self.out is not None:
            lines.append(f"Written to {printable(self.out, None)}")
        return "\n".join(lines)

    def _kept(self) -> str:
        place = self.ledger.removeprefix("sqlite:///")
        if place == self.ledger:
            return "Kept nowhere, so that nothing can be resumed; name a ledger to keep it"
        return (
            f"Kept in {printable(place, None)}, campaign {self.campaign}, run {self.run}; "
            f"`vladder campaign show {self.campaign}` tells which are best"
        )

    def _bad(self) -> list[str]:
        shown = [f"  line {r.line}: {printable(r.reason)}" for r in self.bad_rows[:MOST_BAD_ROWS]]
        left = len(self.bad_rows) - len(shown)
        more = [f"  and {_count(left, 'more bad row')}"] if left else []
        return ["Bad rows, not scored", *shown, *more] if shown else []


def _rewards(made: Statistics) -> list[str]:
    lines = [f"Mean reward  {_estimate(made.mean)}, {made.known} known"]
    if made.pending:
        lines.append(f"  {_count(made.pending, 'reward')} may still be revised by a higher tier")
    return lines


def _passes(made: Statistics) -> list[str]:
    if not made.known:
        return []
    if made.threshold is None:
        return ["pass@k       not computed: rewards leave 0 to 1; give --pass-at, a reward"]
    how = "assumed, --pass-at changes it" if made.is_assumed else "as asked"
    lines = []
    for k, estimate in made.passes.items():
        few = f" ({_count(estimate.groups, 'group')})" if estimate.groups < made.groups else ""
        lines.append(f"{f'pass@{k}':<12} {_estimate(estimate, made.believed)}{few}")
    return [
        *lines,
        f"  a sample passes at a reward of {made.threshold:g} or more ({how})",
        "  estimator of Chen et al. 2021; 95 % intervals over groups",
    ]


def _unknown(made: Statistics) -> list[str]:
    total = sum(made.unknown.values())
    if not total:
        return [f"Unknown      none of {_count(made.rows, 'reward')}"]
    why = ", ".join(
        f"{count} {'declined by the verifier' if at == DECLINED else f'failed at {at}'}"
        for at, count in made.unknown.items()
    )
    share = f"{total} of {_count(made.rows, 'reward')} ({total / made.rows:.1%})"
    return [f"Unknown      {share}: {why}"]


def _costs(made: Statistics) -> list[str]:
    shown = []
    for tier, checks, seconds, failed, more, wall in made.costs:
        lost = f" and {failed:.3g} s without an answer" if failed else ""
        rest = "".join(f"{amount:.4g} {unit}, " for unit, amount in more.items())
        took = f"{seconds:.3g} cpu-s, " + ("" if wall is None else f"{wall:.3g} s of wall time, ")
        shown.append(f"  {tier.label:<14} {took}{rest}{_count(checks, 'check')}{lost}")
    return ["Cost of the campaign so far", *shown] if shown else []


def _estimate(estimate: Estimate | None, believed: int = 0) -> str:
    if estimate is None:
        return "unknown"
    if believed:
        rows = _count(believed, "row")
        return f"{estimate.value:.4g} as believed ({rows} not judged by the top: no interval)"
    if estimate.low is None or estimate.high is None:
        why = "one group" if estimate.groups == 1 else "nothing varies"
        return f"{estimate.value:.4g} ({why}, so no interval)"
    return f"{estimate.value:.4g}  95 % interval {estimate.low:.4g} to {estimate.high:.4g}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
