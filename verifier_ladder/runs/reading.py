"""Reading a run out of the ledger, as it stood at a moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, isnan

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, DrawRow, SampleColumns
from verifier_ladder.reward import (
    Reject,
    Reward,
    deciding_reject,
    definitive_of,
    scorers_of,
    tier_score,
)
from verifier_ladder.runs.finding import FoundRun, find_run
from verifier_ladder.runs.moment import Moment, entries_at, moment_of
from verifier_ladder.runs.records import RunRecord, Said, SampleRecord
from verifier_ladder.scheduler.audits import Audit
from verifier_ladder.scheduler.draws import spoken_in
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.recollection import Recollection, TierScore
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import KIND, Transcripts
from verifier_ladder.verdict import Outcome, Verdict


def read_run(
    ledger: Ledger,
    run: str | None = None,
    *,
    campaign: str | None = None,
    at: int | None = None,
    evaluation: bool | None = None,
) -> RunRecord:
    """Read all that is known of a run.

    Its campaign's entries are read one after the other. About a kilobyte is kept for each sample.

    Args:
        ledger: The ledger.
        run: Name of the run; by default the newest that is no evaluation.
        campaign: Its campaign, where several have a run of this name.
        at: Size of a signed checkpoint: what was known then. By default all that is known now,
            which is signed for first.
        evaluation: True for the run's evaluation; False to refuse one. A run's own samples never
            include those of its evaluation.

    Raises:
        ConfigError: If there is no such run, it is an evaluation where none may be, or there is
            no such checkpoint.

    Example:
        >>> import verifier_ladder as vl
        >>> exact = vl.wrap(lambda completions: [1.0], name="exact", isolation="inline")
        >>> ledger = vl.open_ledger(":memory:")
        >>> ladder = vl.Ladder("l", [exact])
        >>> with vl.Campaign.open("c", ladder=ladder, ledger=ledger, run="r") as campaign:
        ...     _ = campaign.score(["4"])
        >>> [sample.reward.value for sample in read_run(ledger, "r").samples]
        [1.0]
    """
    moment = moment_of(ledger, at)
    found = find_run(ledger, run, campaign, evaluation=evaluation)
    return _Reading(ledger, found, moment).record()


class _Reading:
    """Takes a campaign's entries one after the other."""

    def __init__(self, ledger: Ledger, run: FoundRun, moment: Moment) -> None:
        self._ledger = ledger
        self._run = RunRecord(run.campaign, run.name, run.facts, moment)
        self._run.transcripts = Transcripts(run.name)
        self._samples: dict[tuple[int, int], SampleRecord] = {}
        self._learnt = Recollection(run.campaign.ladder)

    def record(self) -> RunRecord:
        for entry in entries_at(self._ledger, self._run.campaign.name, self._run.moment):
            self._take(self._ledger.read(entry))
        self._run.samples = list(self._samples.values())
        self._complete()
        return self._run

    def _take(self, block: Block) -> None:
        run = self._run
        if block.kind == KIND:
            run.transcripts.read(block.facts)
        elif block.kind == "alarm":
            alarm = Alarm.from_json(block.facts)
            if run.name in {alarm.first.run, alarm.last.run}:
                run.alarms.append(alarm)
        elif block.kind == "belief":
            run.audits += _audits(block, run.name)
            self._learnt.take(block.facts)
        for row in block.candidates:
            form = row.content if row.canonical is None else row.canonical
            run.contents.setdefault(row.content_key, form)
            if row.verdict is not None:
                run.problems[row.content_key] = row.verdict
        for verdict in block.verdicts:
            if verdict.verdict.is_answer and not verdict.verdict.evidence.get("waiting"):
                said = Said(verdict.verifier, verdict.tier, verdict.verdict)
                run.said[verdict.check_key] = said
        if block.samples is not None and block.samples.run == run.name and block.rewards:
            self._take_samples(block, block.samples)

    def _take_samples(self, block: Block, samples: SampleColumns) -> None:
        rows = list(_rows(samples))
        for (position, content, checks, group, version, task), reward in zip(
            rows, block.rewards, strict=True
        ):
            place = (samples.step, position)
            known = self._samples.get(place)
            if known is None:
                self._samples[place] = SampleRecord(
                    samples.step, position, content, group, version, task, reward, reward, checks
                )
                continue
            known.reward, known.checks = reward, checks
        for position, spoken in spoken_in(block.facts).items():
            self._samples[samples.step, position].spoken = spoken
        for columns in block.decisions:
            for at, draw in zip(columns.sample, columns.draws(), strict=True):
                sample = self._samples[samples.step, rows[at][0]]
                _draw(sample, block.rewards[at], draw)

    def _complete(self) -> None:
        """Look up what other campaigns have recorded of this run's candidates and checks."""
        run = self._run
        needed = {key for sample in run.samples for key in sample.checks} - run.said.keys()
        for key, verdict in _verdicts(self._ledger, sorted(needed), run.moment).items():
            run.said[key] = Said("", -1, verdict)
        for content in {sample.content for sample in run.samples} - run.contents.keys():
            for _, _, form in self._ledger.find_contents(content.hex(), 1):
                run.contents[content] = form
        if len(run.campaign.ladder["verifiers"]) > 1:  # Of a single one it is plain who spoke.
            self._name(needed & run.said.keys())
        findings = _Findings(run)
        for sample in run.samples:
            findings.tell(sample)
        if self._learnt.is_any:
            self._believe()

    def _name(self, others: set[bytes]) -> None:
        """Find out whose verdicts these are that other campaigns have recorded."""
        for entry in entries_at(self._ledger, None, self._run.moment):
            if not others:
                return
            for row in self._ledger.read(entry).verdicts:
                if row.check_key in others and row.verdict.is_answer:
                    others.discard(row.check_key)
                    said = self._run.said[row.check_key]
                    self._run.said[row.check_key] = Said(row.verifier, row.tier, said.verdict)

    def _believe(self) -> None:
        """Believe what was learnt by now of all that the top tier has not judged."""
        run, rule = self._run, self._run.rule
        fair = [s for s in run.samples if s.reward.value is not None and not s.is_rejected]
        told = [_told(run, sample) for sample in fair]
        beliefs = self._learnt.beliefs([scores for scores, _ in told], [each for _, each in told])
        for sample, (mean, deviation) in zip(fair, beliefs, strict=False):
            if not isnan(mean):
                sample.belief = rule.expect(mean, sign=run.sign)
                sample.spread = None if isnan(deviation) else rule.spread(deviation)


def _told(run: RunRecord, sample: SampleRecord) -> tuple[list[TierScore], dict[str, object]]:
    """What each tier has scored a sample's candidate, and what is offered as evidence of it."""
    said: dict[str, list[Said]] = {}
    for one in run.verdicts(sample):
        said.setdefault(one.verifier, []).append(one)
    features = dict[str, object]()
    answers: dict[str, Verdict] = {}
    for verifier in run.campaign.ladder["verifiers"]:
        name = str(verifier["name"])
        if name not in said:
            continue
        verdict = answers[name] = combined([one.verdict for one in said[name]])
        offered = verifier.get("features", ())
        features |= {f"{name}.{each}": verdict.evidence.get(each) for each in offered}
    found = {
        tier: tier_score(run.rule, scorers, answers)
        for tier, scorers in scorers_of(run.campaign.ladder).items()
    }
    scores = [(tier, score, own) for tier, (score, own) in found.items() if score is not None]
    return scores, features


class _Findings:
    """Tells what the verdicts of a run's candidates amount to, as their rewards do."""

    def __init__(self, run: RunRecord) -> None:
        ladder = run.campaign.ladder
        self._run, self._rule = run, run.rule
        self._definitive = definitive_of(ladder)
        self._scorers = scorers_of(ladder).get(int(run.top), ())
        tiers = {str(v["name"]): Tier.parse(v["tier"]) for v in ladder["verifiers"]}
        self._is_single = len(tiers) == 1
        self._top = [name for name, tier in tiers.items() if tier is run.top]

    def tell(self, sample: SampleRecord) -> None:
        """Note whether a sample's candidate is rejected, and its truth if the top was asked."""
        parts: dict[str, list[Verdict]] = {}
        for one in self._run.verdicts(sample):
            parts.setdefault(one.verifier, []).append(one.verdict)
        answers = {name: combined(verdicts) for name, verdicts in parts.items()}
        score = self._score(answers)
        reject = deciding_reject(self._rejects(answers), is_scored=score is not None)
        sample.is_rejected = reject is not None
        if not (sample.is_drawn or sample.is_certain):
            return
        if reject is None and score is not None:
            sample.truth = self._rule.scale(score, sign=self._run.sign)
        elif reject is not None and not reject.is_top:  # One by the top tier may earn its score.
            sample.truth = self._rule.reject

    def _rejects(self, answers: Mapping[str, Verdict]) -> list[Reject]:
        return [
            Reject(name, name in self._definitive, self._is_single or name in self._top)
            for name, verdict in answers.items() if verdict.outcome is Outcome.REJECT
        ]  # fmt: skip

    def _score(self, answers: Mapping[str, Verdict]) -> float | None:
        """The top tier's score; None if it has none, or one of its verifiers does not accept."""
        said = [answers.get(name) for name in self._top]
        if any(verdict is None or verdict.outcome is not Outcome.ACCEPT for verdict in said):
            return None
        if not self._scorers:
            return 1.0  # Gates alone: passing them all is the score.
        return tier_score(self._rule, self._scorers, answers)[0]


Row = tuple[int, bytes, tuple[bytes, ...], str, str, bytes]


def _rows(samples: SampleColumns) -> Iterator[Row]:
    count = len(samples.contents)
    return zip(
        listed(samples.positions), samples.contents, samples.checks,
        samples.groups or [""] * count, samples.learner_versions or [""] * count,
        samples.tasks or [b""] * count, strict=True,
    )  # fmt: skip


def _draw(sample: SampleRecord, reward: Reward, draw: DrawRow) -> None:
    """Note a sample's draw: what it was worth by belief at that moment, if it fell on it.

    An answer that speaks for others as well, whose draws were cancelled, has another weight.
    """
    if draw.is_certain:
        if not sample.is_certain:
            sample.is_certain, sample.estimate = True, reward.value
        sample.propensity, sample.factor = 1.0, draw.factor
        return
    if sample.is_certain:
        if draw.propensity == 0.0:  # It was cancelled.
            sample.propensity = 0.0
        return
    if sample.is_drawn and isfinite(draw.factor):
        sample.propensity, sample.factor = draw.propensity, draw.factor
    if not isfinite(draw.propensity) or sample.is_drawn:
        return
    sample.propensity = draw.propensity
    if draw.is_hit:
        sample.is_drawn, sample.estimate = True, reward.value
        sample.factor = draw.factor if isfinite(draw.factor) else 1.0


def _audits(block: Block, run: str) -> list[Audit]:
    stored = block.facts["lessons"]["audits"]
    return [Audit.from_json(one) for one in stored if one and one["sample"][0] == run]


def _verdicts(ledger: Ledger, keys: list[bytes], moment: Moment) -> dict[bytes, Verdict]:
    from verifier_ladder.ledger.moments import SqlMoments

    if moment.size is not None and isinstance(ledger, SqlMoments):
        return ledger.verdicts_as_of(keys, moment.size)
    return ledger.verdicts(keys)
