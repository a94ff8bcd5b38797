"""Sample histories: what the entries of a ledger say of the samples of a step.

Whoever has to know what becomes of a sample that is recorded reads it here, so that all know the
same: how it was decided, drawn and rewarded, which group it was decided with, and which checks it
would hear of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

from verifier_ladder.decision import Action, Belief
from verifier_ladder.group import refuse_forged
from verifier_ladder.keys import NO_TASK
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.encoding import reading
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.draws import Draw, Lot, Spoken, in_ranges, spoken_in
from verifier_ladder.text import printable

_NONE = -1
_UNKNOWN = Belief(nan, nan)
DECIDED = "decided"
"""Fact that names positions of samples that were decided as a group, and the group's members."""
WHOLE = "whole"
"""Fact that names positions of samples that were decided with all members of their group."""
CANCELLED = "cancelled"
"""Fact that names positions of samples which were cancelled while they waited for their group."""
ENDED = "ended"
"""Of a request: that its sample was told that no reward would come. As a fact of revisions: the
places of such samples, which did not wait for what they get."""


@dataclass(slots=True)
class RecordedSample:
    """What the history says of a sample, up to its latest entry."""

    subject: tuple[bytes, bytes, bytes]
    """Its content, task and trajectory."""
    size: int
    reward: Reward
    group: str = ""
    group_size: int = 0
    """How many samples its group has; 0 if it was not said."""
    party: list[list[Any]] | None = None
    """The members of the group with which it was decided last, as a comparison writes them."""
    is_partial: bool = False
    """Whether others of its group were still to come then."""
    has_left: bool = False
    """Whether it was cancelled while it waited for its group."""
    belief: Belief = _UNKNOWN
    """What was believed of it last."""
    learner_version: str = ""
    weight: float = 1.0
    tier: int = _NONE
    """The tier that it was sent to last."""
    draw: Draw | None = None
    """The draw that sent it to the top tier; its stratum is left out."""
    lot: Lot | None = None
    """The draw for the top tier that was made ahead."""
    share_left: float = 1.0
    """Share of the draws that its own is one of which was not cancelled meanwhile."""
    spoken: Spoken | None = None
    """What cancellations below the top tier make of its reward."""
    before: tuple[bytes, ...] = ()
    """The checks that were known when it was drawn."""
    checks: tuple[bytes, ...] = ()
    """Those that its reward rests on."""
    entry: int = 0
    """The latest entry that holds it."""
    is_early: bool = False
    """Whether its reward was read at a deadline, and is to be revised once more."""
    unanswered: dict[bytes, Mapping[str, Any]] = field(default_factory=dict)
    """Its requests for checks of whose failure it was told, by check key: it waits again for those
    that are tried again."""

    def state(self, candidate: dict[str, Any]) -> dict[str, Any]:
        """What a request of it holds, where no draw has a part in that."""
        state = {
            "candidate": candidate, "group": self.group, "learner_version": self.learner_version,
            "weight": self.weight, "size": self.size,
        }  # fmt: skip
        return retold(state, self.reward)

    @property
    def is_open(self) -> bool:
        """Whether it may wait for anything."""
        return self.reward.pending or self.is_early or bool(self.unanswered)

    def is_decided(self, party: Sequence[Any], *, whole: bool) -> bool:
        """Whether it was decided with these members; as all that there are, if that is asked."""
        return self.party == party and not (whole and self.is_partial)

    def awaits(self, check_key: bytes, tier: int) -> bool:
        """Whether it waits for a check of its own, by a verifier of that tier."""
        if check_key in self.unanswered:
            return True
        return (self.reward.pending or self.is_early) and self.tier == tier


def retold(state: Mapping[str, Any], reward: Reward) -> dict[str, Any]:
    """The state of a request whose sample was told a reward."""
    made = {**state, "value": reward.value, "revision": reward.revision}
    made.pop(ENDED, None)
    return made if reward.pending or reward.value is not None else {**made, ENDED: True}


def ended_facts(ended: Sequence[bool]) -> dict[str, Any]:
    """The fact that names such samples, by whether each is one; mostly none."""
    places = [place for place, is_ended in enumerate(ended) if is_ended]
    return {ENDED: places} if places else {}


def samples_of_step(
    ledger: Ledger,
    campaign: str,
    run: str,
    step: int,
    positions: Collection[int] | None = None,
    *,
    hear_others: bool = False,
) -> dict[int, RecordedSample]:
    """What the history says of the samples of one step, by position.

    Args:
        ledger: The ledger.
        campaign: The campaign.
        run: The run.
        step: The step.
        positions: Only these, from the entries that hold them.
        hear_others: Whether revisions of others are read then, too: as they are cancelled, they
            tell of those that are left (`left`, `spoken`). All is known then of whoever was
            recorded with one of these samples, so that is given, too.
    """
    found: dict[int, RecordedSample] = {}
    wanted = None if positions is None else list(positions)
    entries = ledger.step_entries(campaign, run, step, positions=wanted)
    if hear_others and wanted is not None:
        own = {entry.id for entry in entries}
        every = ledger.step_entries(campaign, run, step)
        entries = (entry for entry in every if entry.id in own or entry.kind == "revision")
    known = dict.fromkeys(wanted or ())
    for entry in entries:
        block = ledger.read(entry)
        with reading(entry.id, f"what it says of step {step} of run {printable(run)}"):
            _take(found, block, entry.id)
        if hear_others and entry.kind != "revision" and block.samples is not None:
            known |= dict.fromkeys(block.samples.positions)
    return found if wanted is None else {n: found[n] for n in known if n in found}


def _take(found: dict[int, RecordedSample], block: Block, entry: int) -> None:
    """Hear what an entry says of the samples of a step."""
    samples = block.samples
    if samples is None or not block.rewards:
        return
    count = len(block.rewards)
    subjects = zip(
        samples.contents, samples.tasks or [NO_TASK] * count, samples.turns or [NO_TASK] * count,
        strict=True,
    )  # fmt: skip
    size = int(block.facts.get("size", count))
    for place, (position, subject) in enumerate(zip(samples.positions, subjects, strict=True)):
        told = found.setdefault(position, RecordedSample(subject, size, block.rewards[place]))
        told.subject, told.reward, told.entry = subject, block.rewards[place], entry
        told.checks = tuple(samples.checks[place])
        told.group = samples.groups[place] if samples.groups else ""
        told.group_size = samples.group_sizes[place] if samples.group_sizes else told.group_size
        told.weight = samples.weights[place] if samples.weights else 1.0
        versions = samples.learner_versions
        told.learner_version = versions[place] if versions else ""
        told.is_early = bool(block.facts.get("early"))
    _take_groups(found, block.facts)
    for position, spoken in spoken_in(block.facts).items():
        if position in found:
            found[position].spoken = spoken
    for position, key, state in block.facts.get("unanswered", ()):
        told = found[position]
        told.unanswered[bytes.fromhex(key)] = state
        told.share_left = state.get("left", 1.0)
        told.spoken = Spoken(*state["spoken"]) if state.get("spoken") else None
        if told.draw is not None and state.get("draw"):  # Others may speak for it by now.
            told.draw = Draw.from_json(state["draw"])
    for position, propensity, number in block.facts.get("ahead", ()):
        found[position].lot = Lot(propensity, number)
    _take_left(found, block.facts)
    _take_decisions(found, block)


def _take_left(found: dict[int, RecordedSample], facts: Mapping[str, Any]) -> None:
    """Hear of samples that are left where others of their step were cancelled."""
    share, stored = facts.get("left", (1.0, ()))
    for position in in_ranges(stored, found):
        found[position].share_left *= share
    for times, most, stored in facts.get("louder", ()):
        for position in in_ranges(stored, found):
            told = found[position]
            if (value := told.reward.value) is not None:
                told.spoken = (told.spoken or Spoken(value)).then(value, times, most)


def _take_groups(found: dict[int, RecordedSample], facts: Mapping[str, Any]) -> None:
    for positions, party, is_partial in facts.get(DECIDED, ()):
        refuse_forged(count for _, count in party)
        for position in positions:
            told = found[position]
            told.party, told.is_partial = party, is_partial
            told.draw, told.share_left, told.spoken, told.before = None, 1.0, None, ()
            told.unanswered = {}  # It was asked about as a member of another group.
    for position in facts.get(WHOLE, ()):
        found[position].is_partial = False
    for position in facts.get(CANCELLED, ()):
        found[position].has_left, found[position].is_partial = True, False


def _take_decisions(found: dict[int, RecordedSample], block: Block) -> None:
    samples = block.samples
    for columns in block.decisions if samples else ():
        for row, (place, draw) in enumerate(zip(columns.sample, columns.draws(), strict=True)):
            told = found[samples.positions[place]]  # type: ignore[union-attr]
            told.belief = Belief(columns.mean[row], columns.deviation[row])
            if columns.action[row] != Action.STOP:
                told.tier = columns.tier[row]
            if told.draw is None and draw.is_hit:
                told.before = samples.checks[place]  # type: ignore[union-attr]
                told.draw = (
                    Draw.certain(told.reward.value) if draw.is_certain
                    else Draw(
                        draw.propensity, draw.number, told.reward.value,
                        1.0 if isnan(draw.factor) else draw.factor,
                        _known(columns.mean[row]), _known(columns.deviation[row]),
                    )
                )  # fmt: skip


def _known(number: float) -> float | None:
    return None if isnan(number) else number
