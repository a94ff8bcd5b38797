"""Gatherings: the samples of groups, as far as they have come in calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import UNKNOWN_SIZE, Candidate, SampleId
from verifier_ladder.keys import NO_TASK
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.queueing import awaited
from verifier_ladder.scheduler.samplehistory import CANCELLED, RecordedSample, samples_of_step
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.undecided import PARTIAL
from verifier_ladder.scheduler.withdrawal import Wanted, ended, leave_group
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.scheduler.scorer import Batch

GroupName = tuple[str, int, str]
"""Run, step and name."""
_LOST = "it was recorded without a form that can be judged"
_MOST_OPEN = 4096
"""Groups that are gathered at once; older ones are read from the ledger again."""
_MOST_STEPS, _MOST_OVER = 16, 65_536
"""Steps of which it is kept what was recorded before, and groups that were here."""


class Gathering:
    """The members of one group, as far as they have come."""

    def __init__(self, size: int) -> None:
        """Wait for so many samples; 0 for as many as come in one call."""
        self.size = size
        self.members: dict[int, Standing] = {}
        """What is known of each by itself, by position."""
        self.answered: dict[int, frozenset[bytes]] = {}
        """Checks that have answered about those that are recorded, by position."""
        self.partial: set[int] = set()
        """Positions of recorded samples that were judged before all had come."""
        self.cancelled: set[int] = set()
        """Positions of samples that were cancelled while they waited for the rest."""
        self.is_over = False
        """Whether it was decided with all of its samples, where that is done later."""
        self.is_lost = False
        """Whether a member is recorded that can't be judged again."""

    @property
    def missing(self) -> int:
        """How many samples are still to come."""
        return max(0, self.size - len(self.members) - len(self.cancelled))

    def leave(self, positions: Iterable[int]) -> set[int]:
        """Go on without some samples; gives those of them that are recorded."""
        gone = set(positions)
        self.cancelled |= gone
        self.partial -= gone
        recorded = gone & self.answered.keys()
        for position in gone:
            self.members.pop(position, None)
            self.answered.pop(position, None)
        return recorded


@dataclass(slots=True)
class Gathered:
    """The samples of one call as members of their groups."""

    standings: list[Standing]
    """One for each sample: what is known of it in its group."""
    by_place: dict[int, Gathering]
    """The group of each sample that has one."""
    names: dict[int, GroupName]
    """What each of these groups is found by."""
    partial: dict[int, tuple[int, int]]
    """Of samples that were judged before all had come, by position: how many had, of how many."""
    cancelled: set[int] = field(default_factory=set)
    """Positions of samples that were cancelled while they waited."""
    call: object = field(default_factory=object)
    """Stands for the call, also where only some of its samples are new."""

    def marked(self, rewards: Sequence[Reward], positions: Sequence[int]) -> Sequence[Reward]:
        """Rewards that are revised once the rest of their group has come, marked as such."""
        if not (self.partial or self.cancelled):
            return rewards
        return [
            awaited(reward) if position in self.partial
            else ended(reward) if position in self.cancelled
            else reward
            for reward, position in zip(rewards, positions, strict=True)
        ]  # fmt: skip

    def facts(self, positions: Sequence[int]) -> dict[str, Any]:
        """What an entry tells of those of its samples whose groups were not complete."""
        rows = [[n, *self.partial[n]] for n in positions if n in self.partial]
        gone = [position for position in positions if position in self.cancelled]
        return {**({PARTIAL: rows} if rows else {}), **({CANCELLED: gone} if gone else {})}

    def named(self) -> Iterator[tuple[GroupName, Gathering]]:
        """The groups, each once, by name."""
        pairs = zip(self.names.values(), self.by_place.values(), strict=True)
        return iter(dict(pairs).items())


class Gatherings:
    """The groups of one campaign whose samples have not all come, or were not judged together.

    **Threads.** Any number of threads may bring samples at once; `changed` guards all of it.
    """

    def __init__(self, desk: Desk) -> None:
        """Work at a campaign's desk."""
        self._desk = desk
        self.changed = Condition()
        self.open: dict[GroupName, Gathering] = {}
        self._over: dict[GroupName, Collection[int]] = {}
        """Positions of the groups that were here: who comes again is read by them."""
        self._before: dict[tuple[str, int], Mapping[int, RecordedSample]] = {}
        """What was recorded of a step when its first group came."""

    # -- who belongs together ----------------------------------------------------------------

    def gather(self, batch: Batch, standings: Sequence[Standing]) -> Gathered:
        """Add the samples of a call to their groups."""
        told = Gathered(list(standings), {}, {}, {})
        fresh: dict[GroupName, Gathering] = {}
        with self.changed:
            for place, standing in enumerate(standings):
                name = batch.groups[place] if batch.groups else ""
                size = batch.group_sizes[place] if batch.group_sizes else 0
                if not name or size == UNKNOWN_SIZE:
                    continue
                key = (batch.run, batch.step, name)
                known = fresh.get(key) or (self.open.get(key) if size else None)
                gathering = known or fresh.setdefault(key, Gathering(size))
                if batch.positions[place] not in gathering.cancelled:
                    gathering.members[batch.positions[place]] = standing
                told.by_place[place], told.names[place] = gathering, key
            for key, gathering in fresh.items():
                if gathering.missing or (gathering.size and key in self._over):
                    self._remember(key, gathering, self._recorded(key, gathering))
                if gathering.size:
                    self.open[key] = gathering
            for key in list(self.open)[: max(0, len(self.open) - _MOST_OPEN)]:
                self._end(key, self.open.pop(key))
            self.changed.notify_all()
        return told

    def wait(self, told: Gathered, mine: set[int], until: float | None, seconds: float) -> None:
        """Wait for the members that are still to come, as long as there is time to judge them.

        Args:
            told: The samples of one call.
            mine: Their positions.
            until: Monotonic time of the deadline.
            seconds: How long judging them may take.
        """
        waiting = [one for one in each(told.by_place.values()) if one.missing]
        if until is None or not waiting:
            return
        left = until - monotonic()
        left -= min(left / 2, seconds)
        with self.changed:
            self.changed.wait_for(
                lambda: not any(
                    one.missing and not one.is_lost and not mine.isdisjoint(one.members)
                    for one in waiting
                ),
                max(left, 0.0),
            )  # fmt: skip

    def note(self, batch: Batch, told: Gathered, answers: Mapping[int, frozenset[bytes]]) -> None:
        """Hear that samples of a call are recorded; those that were recorded before are read.

        Args:
            batch: The call's samples.
            told: What was known of them.
            answers: Checks that have answered about those that are new, by place.
        """
        with self.changed:
            for place, answered in answers.items():
                position = batch.positions[place]
                gathering = told.by_place.get(place)
                if gathering is not None and position not in told.cancelled:
                    gathering.answered[position] = answered
                    if position in told.partial:
                        gathering.partial.add(position)
            for place, gathering in told.by_place.items():
                known = gathering.answered.keys() | gathering.cancelled
                if gathering.size and batch.positions[place] not in known:
                    rows = self._read(batch.run, batch.step, gathering.members)
                    self._remember(told.names[place], gathering, rows)
            late = {  # Cancelled while they were judged.
                name: recorded for name, gathering in told.named()
                if (recorded := gathering.leave(gathering.cancelled & gathering.answered.keys()))
            }  # fmt: skip
        for key, positions in late.items():
            self._end_climbs(key, positions)

    def close(self, key: GroupName, gathering: Gathering) -> None:
        """Forget a group whose samples have all been judged together."""
        if self.open.get(key) is gathering:
            self._end(key, self.open.pop(key))

    def _end(self, key: GroupName, gathering: Gathering) -> None:
        """Remember that a group was here: what was read of its step does not tell of it."""
        if len(self._over) >= _MOST_OVER:
            self._over.clear()
            self._before.clear()
        self._over[key] = {*gathering.members, *gathering.answered, *gathering.cancelled}

    # -- what is recorded --------------------------------------------------------------------

    def _remember(
        self, key: GroupName, gathering: Gathering, rows: Mapping[int, RecordedSample]
    ) -> None:
        """Add the samples of a group that were recorded before, and are among some of its step."""
        tasks = {one.task_key: one.candidate.task for one in gathering.members.values()}
        for position, sample in rows.items():
            if sample.group != key[2]:
                continue
            if sample.has_left:
                gathering.leave([position])
                continue
            gathering.answered[position] = frozenset(sample.checks)
            if sample.reward.pending:
                gathering.partial.add(position)
            if position not in gathering.members:
                standing = self._recalled(sample, tasks)
                gathering.is_lost = gathering.is_lost or standing is None
                if standing is not None:
                    gathering.members[position] = standing

    def _recorded(self, key: GroupName, gathering: Gathering) -> Mapping[int, RecordedSample]:
        """Recorded samples of a step, with those of a group that comes, or comes again.

        Only where nobody knows which positions these have, all of the step are read, once.
        """
        run, step, _ = key
        if key in self._over:
            return self._read(run, step, {*gathering.members, *self._over[key]})
        if (run, step) not in self._before:
            if len(self._before) >= _MOST_STEPS:
                self._before.clear()
            self._before[run, step] = self._read(run, step)
        return self._before[run, step]

    def _read(
        self, run: str, step: int, positions: Collection[int] | None = None
    ) -> Mapping[int, RecordedSample]:
        return samples_of_step(self._desk.ledger, self._desk.campaign, run, step, positions)

    def _recalled(
        self, sample: RecordedSample, tasks: Mapping[bytes, Mapping[str, Any] | None]
    ) -> Standing | None:
        """A sample of an earlier process; None if what it was judged by is not known any more."""
        content, task, turns = sample.subject
        if turns != NO_TASK or task not in {NO_TASK, *tasks}:
            return None
        found = self._desk.ledger.find_contents(content.hex(), 1)
        if not found:
            return None
        _, kind, form = found[0]
        candidate = Candidate(kind, form, tasks.get(task) if task != NO_TASK else None)
        if not sample.checks:  # It has no canonical form, or no verifier could judge it.
            return Standing(candidate, content, form, Verdict.abstain(_LOST))
        return self._desk.intake.recall(candidate, content, None)

    def take_up(self, run: str, step: int) -> list[dict[int, Standing]]:
        """Gather the groups of a step again that earlier processes have left open.

        Returns:
            The samples of those that came in one call, and were not decided.
        """
        found: dict[str | int, dict[int, Standing]] = {}
        with self.changed:
            rows = self._read(run, step)
            for position, sample in rows.items():
                key = (run, step, sample.group)
                if not sample.reward.pending or key in self.open:
                    continue
                if sample.group_size:
                    self.open[key] = gathering = Gathering(sample.group_size)
                    self._remember(key, gathering, rows)
                elif sample.party is None and not sample.has_left:
                    standing = self._recalled(sample, {})
                    if standing is not None:
                        found.setdefault(sample.group or position, {})[position] = standing
        return list(found.values())

    def _steps(self, wanted: Wanted) -> list[tuple[str, int]]:
        """Runs and steps with samples that were recorded before all of their group had come."""
        if wanted.run is not None and wanted.step is not None:
            return [(wanted.run, wanted.step)]
        ledger, campaign = self._desk.ledger, self._desk.campaign
        blocks = map(ledger.read, ledger.entries(kind="score", campaign=campaign))
        return list(dict.fromkeys(
            (block.samples.run, block.samples.step) for block in blocks
            if block.samples is not None and PARTIAL in block.facts
            and wanted.takes_step(block.samples.run, block.samples.step)
        ))  # fmt: skip

    # -- who is cancelled --------------------------------------------------------------------

    def waiting(self, run: str | None, step: int | None) -> set[int]:
        """Positions of the samples of a step that wait here for the rest of their groups."""
        with self.changed:
            return {
                position for key, gathering in self.open.items()
                if (run, step) == key[:2] and gathering.missing for position in gathering.members
            }  # fmt: skip

    def withdraw(self, wanted: Wanted) -> int:
        """Let cancelled samples leave the groups that they wait for; counts them."""
        count, ending = 0, list[tuple[GroupName, set[int]]]()
        for run, step in self._steps(wanted):
            self.take_up(run, step)
        with self.changed:
            for key, gathering in self.open.items():
                gone = {
                    position for position in gathering.members if gathering.missing
                    and wanted.takes(SampleId(*key[:2], position))
                }  # fmt: skip
                if gone:
                    recorded = gathering.leave(gone)
                    count += len(gone - recorded)
                    ending.append((key, recorded))
            self.changed.notify_all()
        return count + sum(self._end_climbs(*each_) for each_ in ending)

    def _end_climbs(self, key: GroupName, positions: Collection[int]) -> int:
        """Write that recorded samples were cancelled; they keep what they have. Counts them."""
        run, step, _ = key
        with self._desk.lock:
            known = samples_of_step(self._desk.ledger, self._desk.campaign, run, step, positions)
            waiting = [(n, known[n]) for n in sorted(positions) if known[n].reward.pending]
            if waiting:
                leave_group(self._desk, run, step, *zip(*waiting, strict=True))
        return len(waiting)


def each(gatherings: Iterable[Gathering]) -> Iterator[Gathering]:
    """Each once."""
    return iter({id(one): one for one in gatherings}.values())
