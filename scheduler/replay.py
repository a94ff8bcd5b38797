"""Replay: rewards, draws and beliefs computed again from nothing but the ledger."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from verifier_ladder.candidate import Candidate, SampleId, sample_place
from verifier_ladder.decision import Belief
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CampaignRow, DecisionColumns
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.audits import Audits
from verifier_ladder.scheduler.beliefs import BeliefModel, create_model
from verifier_ladder.scheduler.climb import revised, speaking
from verifier_ladder.scheduler.conclusions import reward_of
from verifier_ladder.scheduler.draws import Draw, Spoken, following, spoken_in, uniform
from verifier_ladder.scheduler.lessons import Lessons, teach
from verifier_ladder.scheduler.recorded import recorded_ladder
from verifier_ladder.scheduler.samplehistory import DECIDED
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.verdict import Verdict

TOLERANCE = 1e-9
"""Relative difference that beliefs may have: linear algebra differs between machines."""
_MOST_SHOWN = 20


class Difference(NamedTuple):
    """One number that came out differently."""

    entry: int
    what: str
    """reward, uncertainty, draw or belief."""
    of: str
    """The sample, or the snapshot."""
    recorded: float | None
    replayed: float | None


@dataclass(slots=True)
class ReplayReport:
    """What a replay found."""

    rewards: int = 0
    draws: int = 0
    beliefs: int = 0
    """How many of each were computed again."""
    differing: int = 0
    differences: list[Difference] = field(default_factory=list)
    """The first of them."""

    @property
    def is_same(self) -> bool:
        """Whether everything came out as recorded."""
        return not self.differing

    def note(self, difference: Difference) -> None:
        """Count a difference."""
        self.differing += 1
        if len(self.differences) < _MOST_SHOWN:
            self.differences.append(difference)


def replay(ledger: Ledger, campaign: CampaignRow) -> ReplayReport:
    """Compute every reward, draw and belief of a campaign again.

    Rewards and draws must come out bit for bit, beliefs to 1e-9. Nothing but the ledger is read:
    no verifier needs to be installed.

    Raises:
        LedgerError: If an entry can't be read.
    """
    again = _Replay(campaign)
    for entry in ledger.entries():
        again.take(entry.id, ledger.read(entry))
    return again.report


class _Replay:
    """The state that grows as entries are read in order."""

    def __init__(self, campaign: CampaignRow) -> None:
        self._name = campaign.name
        self._ladder: Ladder = recorded_ladder(campaign.ladder)
        self._verifiers = {v.name: v for v in self._ladder.verifiers}
        self._seed = bytes.fromhex(str(campaign.ladder["seed"]))
        self._model: BeliefModel = create_model(self._ladder)
        self._audits = Audits()
        self._verdicts: dict[bytes, tuple[str, Verdict]] = {}
        self._problems: dict[bytes, Verdict] = {}
        self._draws: dict[SampleId, Draw] = {}
        self._ahead: dict[SampleId, float] = {}
        """Numbers of the draws that were made ahead."""
        self.report = ReplayReport()

    def take(self, entry: int, block: Block) -> None:
        """Read one entry of the ledger."""
        for row in block.verdicts:
            self._verdicts[row.check_key] = (row.verifier, row.verdict)
        for candidate in block.candidates:
            if candidate.verdict is not None:
                self._problems[candidate.content_key] = candidate.verdict
        if block.campaign != self._name:
            return
        if block.kind == "belief":
            self._learn(entry, block.facts)
        elif block.samples is not None and block.rewards:
            self._judge(entry, block)

    # -- rewards and draws -----------------------------------------------------------------------

    def _judge(self, entry: int, block: Block) -> None:
        rows = dict(_decisions(block))
        lines = self._lines(block)
        self._take_ahead(entry, block, lines)
        spoken = spoken_in(block.facts)
        twins: dict[Hashable, list[SampleId]] = {}
        for positions, *_ in block.facts.get(DECIDED, ()):  # What was drawn before counts no more.
            for place, position in enumerate(block.samples.positions if block.samples else ()):
                if position in positions:
                    self._draws.pop(self._sample(block, place), None)
        for place, reward in enumerate(block.rewards):
            sample = self._sample(block, place)
            alike = twins.setdefault(self._together(block, place), [])
            alike.append(sample)
            row = rows.get(place)
            if row is not None:
                self._draw(entry, alike, row, reward, lines.get(place))
            self.report.rewards += 1
            found = self._reward(block, place, sample, row, spoken.get(sample.position))
            for what in ("value", "uncertainty"):
                was, now = getattr(reward, what), getattr(found, what)
                if not _is_same(was, now):
                    name = "reward" if what == "value" else what
                    self.report.note(Difference(entry, name, sample_place(*sample), was, now))

    def _reward(
        self,
        block: Block,
        place: int,
        sample: SampleId,
        row: Mapping[str, float] | None,
        spoken: Spoken | None,
    ) -> Reward:
        standing = self._standing(block, place)
        survey = Survey(self._ladder, standing)
        belief = Belief(row["mean"], row["deviation"]) if row else Belief(nan, nan)
        reward = speaking(reward_of(self._ladder, survey, belief), spoken)
        draw = self._draws.get(sample)
        if draw is None or block.kind == "score":
            return reward
        is_known = survey.is_judged
        if row is not None and not isnan(row["factor"]):
            # Until a deadline has passed, an answer that came in time weighs more.
            draw = draw._replace(factor=row["factor"])
            is_known = survey.is_known
        elif row is not None and draw.is_certain and row["propensity"] == 1.0:
            draw = draw._replace(factor=nan)  # The top tier has ended without an answer.
        return revised(reward, draw, is_known=is_known)

    def _standing(self, block: Block, place: int) -> Standing:
        samples = block.samples
        content = samples.contents[place] if samples else b""
        problem = self._problems.get(content)
        standing = Standing(Candidate(self._ladder.kind, ""), content, "", problem)
        for key in samples.checks[place] if samples else ():
            name, verdict = self._verdicts[key]
            verifier = self._verifiers[name]
            standing.hear(verifier, len(standing.parts.get(name, ())), verdict)
        return standing

    def _draw(
        self,
        entry: int,
        alike: list[SampleId],
        row: Mapping[str, float],
        reward: Reward,
        on_line: float | None,
    ) -> None:
        """Take the draw of the last of some samples of one candidate, and draw again.

        Samples of one candidate in one call share the draw of the first. Those that were drawn
        together have the numbers that follow from the first on the line.
        """
        sample = alike[-1]
        if sample in self._draws:
            return
        if isnan(row["draw"]):
            if not isnan(row["factor"]):
                self._draws[sample] = Draw.certain(reward.value)
            return
        self.report.draws += 1
        if row["draw"] < row["propensity"]:
            self._draws[sample] = Draw(row["propensity"], row["draw"], reward.value, row["factor"])
        numbers = [*map(self._ahead.get, alike), *uniform(self._seed, alike).tolist()]
        if row["draw"] not in numbers and row["draw"] != on_line:
            self.report.note(
                Difference(entry, "draw", sample_place(*sample), row["draw"], numbers[-1])
            )

    def _take_ahead(self, entry: int, block: Block, lines: Mapping[int, float]) -> None:
        """Take draws that were made ahead, and draw again; they are told once climbs stop."""
        told = {position: number for position, _, number in block.facts.get("ahead", ())}
        for place in range(len(block.rewards)) if told else ():
            sample = self._sample(block, place)
            number = told.get(sample.position)
            if number is None:
                continue
            self._ahead[sample] = number
            own = float(uniform(self._seed, [sample])[0])
            if number not in {own, lines.get(place)}:
                of = sample_place(*sample)
                self.report.note(Difference(entry, "draw", of, number, lines.get(place, own)))

    def _lines(self, block: Block) -> dict[int, float]:
        """The number of each sample if it was drawn together with those before it."""
        found: dict[int, float] = {}
        ahead = {position: number for position, _, number in block.facts.get("ahead", ())}
        for columns in block.decisions:
            begin, before, known = nan, 0.0, dict[Hashable, float]()
            for row, place in enumerate(columns.sample):
                sample = self._sample(block, place)
                number = nan if columns.draw is None else columns.draw[row]
                number = ahead.get(sample.position, number)
                if isnan(number) or sample in self._draws or number == self._ahead.get(sample):
                    continue
                content = self._together(block, place)
                if content not in known:
                    if number == float(uniform(self._seed, [sample])[0]):
                        begin, before = number, 0.0
                    known[content] = float(following(begin, before))
                    before += columns.propensity[row]
                found[place] = known[content]
        return found

    def _together(self, block: Block, place: int) -> Hashable:
        """What tells apart samples that are drawn by themselves."""
        samples = block.samples
        if samples is None:
            return b""
        if not self._ladder.compares_above:
            return samples.contents[place]
        group = samples.groups[place] if samples.groups else ""
        return group or samples.positions[place]

    def _sample(self, block: Block, place: int) -> SampleId:
        samples = block.samples
        if samples is None:
            return SampleId("", 0, place)
        return SampleId(samples.run, samples.step, samples.positions[place])

    # -- beliefs ---------------------------------------------------------------------------------

    def _learn(self, entry: int, facts: Mapping[str, Any]) -> None:
        lessons = Lessons.from_json(facts["lessons"])
        teach(lessons, self._ladder, self._model, self._audits)
        if "snapshot" not in facts or not lessons.keys:  # One may follow on costs alone.
            return
        kept = create_model(self._ladder)
        kept.restore(facts["snapshot"]["belief"])
        lessons.seen.scores[:, -1] = nan  # What the top tier said leaves nothing to believe.
        was, now = kept.predict(lessons.seen), self._model.predict(lessons.seen)
        for name in ("mean", "deviation"):
            pairs = zip(getattr(was, name).tolist(), getattr(now, name).tolist(), strict=True)
            for number, (recorded, replayed) in enumerate(pairs):
                self.report.beliefs += 1
                if not np.isclose(recorded, replayed, TOLERANCE, TOLERANCE, equal_nan=True):
                    of = f"{name} of lesson {number}"
                    self.report.note(Difference(entry, "belief", of, recorded, replayed))


def _decisions(block: Block) -> Iterator[tuple[int, dict[str, float]]]:
    """The decision of each sample, as numbers by name."""
    for columns in block.decisions:
        for row, place in enumerate(columns.sample):
            yield place, _numbers(columns, row)


def _numbers(columns: DecisionColumns, row: int) -> dict[str, float]:
    return {
        "mean": columns.mean[row], "deviation": columns.deviation[row],
        "propensity": columns.propensity[row],
        "draw": nan if columns.draw is None else columns.draw[row],
        "factor": nan if columns.factor is None else columns.factor[row],
    }  # fmt: skip


def _is_same(one: float | None, other: float | None) -> bool:
    """Whether two numbers are the same to the last bit."""
    if one is None or other is None:
        return one is other
    return float(one).hex() == float(other).hex()
