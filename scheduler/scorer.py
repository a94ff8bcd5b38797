"""The score path: the learner waits while samples become rewards, and one entry is written."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import (
    Block,
    CheckRow,
    CheckState,
    Request,
    SampleColumns,
)
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.climb import Step
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.engines.reservation import to_reserve
from verifier_ladder.scheduler.standing import Standing, task_keys
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PART = 8192
Enqueue = list[tuple[CheckRow, Sequence[Request]]]


@dataclass(slots=True)
class Batch:
    """Samples of one run and step, as the columns of one call."""

    run: str
    step: int
    positions: list[int]
    candidates: list[Candidate | str | bytes]
    groups: list[str] | None = None
    group_sizes: list[int] | None = None
    learner_versions: list[str] | None = None
    weights: list[float] | None = None


class Scorer:
    """Scores batches for one campaign."""

    def __init__(self, desk: Desk) -> None:
        """Work at a campaign's desk."""
        self._desk = desk

    def score(self, batch: Batch, until: float | None) -> list[Reward]:
        """Score one batch; higher tiers are asked for, and answer later.

        A large batch is recorded in parts, one entry each: while one part is decided and written,
        the workers are at the next.

        Args:
            batch: Samples of one run and step. Those recorded before are answered from the ledger.
            until: Monotonic time by which the first tier must have answered.

        Raises:
            ConfigError: If a sample's id was recorded with another candidate.
        """
        turn = Lock()
        size = len(batch.positions)
        if size <= _PART:
            return self._score_part(batch, until, turn)
        parts = [_part(batch, range(i, min(i + _PART, size))) for i in range(0, size, _PART)]
        with ThreadPoolExecutor(2, thread_name_prefix="vl-score") as two:
            made = two.map(lambda part: self._score_part(part, until, turn), parts)
            return [reward for rewards in made for reward in rewards]

    def _score_part(self, batch: Batch, until: float | None, turn: Lock) -> list[Reward]:
        with turn:
            standings, arrivals = self._desk.intake.standings(batch.candidates, until)
        before = self._recorded(batch, standings)
        if before is not None:
            return before
        with self._desk.lock:
            step = self._desk.climb.step(
                standings, run=batch.run, step=batch.step, positions=batch.positions,
                affordable=self.affordable(), weights=batch.weights, groups=batch.groups,
            )  # fmt: skip
        rewards, enqueue = self._ask_on(batch, standings, step)
        self._desk.watches.open(batch.run, batch.step, batch.positions, rewards)
        block = Block(
            "score", self._desk.campaign, arrivals.candidates, arrivals.verdicts,
            _samples(batch, standings), step.decisions, rewards,
        )  # fmt: skip
        self._desk.ledger.append(block, enqueue=enqueue, charges=arrivals.seconds)
        self._desk.intake.forget_failures(standings)
        return rewards

    def affordable(self) -> NDArray[np.bool_]:
        """Whether each tier's budget has anything left. Shape (tiers,)."""
        left = np.ones(len(self._desk.ladder.rungs), dtype=bool)
        accounts = {a.tier: a for a in self._desk.ledger.accounts(self._desk.campaign)}
        for column, tier in enumerate(self._desk.ladder.tiers):
            account = accounts.get(int(tier))
            if account is not None and account.cap is not None:
                left[column] = account.settled + account.failed < account.cap
        return left

    def _recorded(self, batch: Batch, standings: Sequence[Standing]) -> list[Reward] | None:
        """The recorded rewards if every sample was submitted before, None if none was."""
        within = (min(batch.positions), max(batch.positions))
        rows = self._desk.ledger.recorded(
            self._desk.campaign, batch.run, batch.step, within=within
        )
        if not rows:
            return None
        again = [rows.get(position) for position in batch.positions]
        for position, row, standing in zip(batch.positions, again, standings, strict=True):
            if row is not None and row.content_key != standing.content_key:
                raise ConfigError(
                    f"sample {position} of step {batch.step} in run {batch.run!r} was recorded "
                    "with another candidate; give each sample an id of its own"
                )
        known = [row.reward for row in again if row is not None]
        if len(known) == len(again):
            return known
        if known:
            fresh = [i for i, row in enumerate(again) if row is None]
            made = iter(self._score_part(_part(batch, fresh), None, Lock()))
            return [row.reward if row is not None else next(made) for row in again]
        return None

    def _ask_on(
        self, batch: Batch, standings: Sequence[Standing], step: Step
    ) -> tuple[list[Reward], Enqueue]:
        rewards = step.rewards
        if not step.escalate:
            return rewards, []
        rewards = list(rewards)
        asked: dict[bytes, tuple[CheckRow, list[Request]]] = {}
        for index, column, benefit in step.escalate:
            standing = standings[index]
            rewards[index] = awaited(rewards[index])
            state = {
                "candidate": candidate_json(standing.candidate), "given": _text(standing),
                "group": batch.groups[index] if batch.groups else "",
                "learner_version": (
                    batch.learner_versions[index] if batch.learner_versions else ""
                ),
                "weight": batch.weights[index] if batch.weights else 1.0,
                "value": rewards[index].value, "revision": 0,
            }  # fmt: skip
            check = check_of(self._desk.campaign, self._desk.ladder, standing, column, benefit)
            request = Request(
                check.check_key, check.campaign, batch.run, batch.step, batch.positions[index],
                standing.content_key, state,
            )  # fmt: skip
            join(asked, check, request)
        return rewards, list(asked.values())


def _samples(batch: Batch, standings: Sequence[Standing]) -> SampleColumns:
    return SampleColumns(
        batch.run, batch.step, batch.positions, [s.content_key for s in standings],
        [s.used for s in standings], batch.groups, batch.group_sizes, batch.learner_versions,
        batch.weights, task_keys(standings),
    )  # fmt: skip


def awaited(reward: Reward) -> Reward:
    """The reward of a sample that climbs on."""
    if reward.value is None and not reward.reason:
        return reward._replace(pending=True, reason="no tier has answered yet")
    return reward._replace(pending=True)


def _text(standing: Standing) -> str | None:
    """One spelling of a text candidate, where it differs from the canonical form."""
    same = standing.given == standing.candidate.content
    return None if same or isinstance(standing.given, bytes) else standing.given


def join(
    asked: dict[bytes, tuple[CheckRow, list[Request]]], check: CheckRow, request: Request
) -> None:
    """Add a request to the check it is for; the highest priority wins."""
    had = asked.get(check.check_key)
    if had is None:
        asked[check.check_key] = (check, [request])
        return
    had[1].append(request)
    if check.priority > had[0].priority:
        asked[check.check_key] = (check, had[1])


def next_verifier(ladder: Ladder, standing: Standing, column: int) -> Verifier:
    """The first verifier of a tier that has not been asked; gates come before the primary."""
    rung = ladder.rungs[column]
    for verifier in rung.verifiers:
        if verifier.name not in standing.verdicts:
            return verifier
    return rung.verifiers[-1]


def check_of(
    campaign: str, ladder: Ladder, standing: Standing, column: int, benefit: float
) -> CheckRow:
    """The check that takes a standing one step further on a tier."""
    verifier = next_verifier(ladder, standing, column)
    return CheckRow(
        check_key=standing.keys[ladder.verifiers.index(verifier)],
        content_key=standing.content_key, campaign=campaign, verifier=verifier.name,
        version=verifier.version, tier=int(verifier.tier), state=CheckState.QUEUED,
        priority=benefit, reserve=to_reserve(verifier, standing),
        payload={
            **candidate_json(standing.seen_by(verifier)),
            "digest": verifier.digest.hex(),
        },
    )  # fmt: skip


def _part(batch: Batch, rows: Sequence[int]) -> Batch:
    def take(column: list[Any] | None) -> list[Any] | None:
        return None if column is None else [column[i] for i in rows]

    return Batch(
        batch.run, batch.step, [batch.positions[i] for i in rows],
        [batch.candidates[i] for i in rows], take(batch.groups), take(batch.group_sizes),
        take(batch.learner_versions), take(batch.weights),
    )  # fmt: skip
