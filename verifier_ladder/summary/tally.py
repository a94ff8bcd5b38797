"""The tally: reads a campaign's entries one after the other and keeps what a summary needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.group import is_told_together
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.records import Block, CandidateRow, Entry, SampleColumns, VerdictRow
from verifier_ladder.ledger.samples import SUPERSEDING
from verifier_ladder.ledger.verdicts import pack_verdict, unpack_verdict
from verifier_ladder.reward import (
    CANONICAL,
    Reject,
    RewardRule,
    deciding_reject,
    definitive_of,
    scorers_of,
    tier_score,
)
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.summary.curve import Curve
from verifier_ladder.summary.reasons import Reasons
from verifier_ladder.summary.records import SurrogateSummary
from verifier_ladder.summary.subject import Stand, Subject
from verifier_ladder.summary.times import Times, charges, told
from verifier_ladder.target import sign_of
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict

_Owners = dict[bytes, dict[Subject, None]]
"""Check keys, and the subjects whose rewards rest on them, in order."""


class Tally:
    """Counts a campaign, entry by entry; a sample takes little memory."""

    def __init__(self, ladder: Mapping[str, Any]) -> None:
        """Start at zero.

        Args:
            ladder: The ladder as the ledger records it: says which verifier is a tier's primary.
        """
        # Beliefs need numpy, and whoever only wants a record of a summary does not.
        from verifier_ladder.scheduler.recollection import Recollection

        listed = ladder.get("verifiers", ())
        self.tiers = sorted({Tier.parse(v["tier"]) for v in listed})
        self.are_comparable = not any(v.get("scope") == "group" for v in listed)
        """Whether scores mean something outside the group of the sample they were given to."""
        self._gates = {v["name"] for v in listed if v.get("role") == "gate"}
        self._definitive = definitive_of(ladder)
        self._features = {v["name"]: v["features"] for v in listed if v.get("features")}
        self._learnt = Recollection(ladder)
        self._repeated = {v["name"] for v in listed if v.get("replicates", 1) > 1}
        self._parts: dict[tuple[Subject, str], dict[bytes, Verdict]] = {}
        """What replicates have said of a subject, by verifier and check key."""
        self.places: dict[str, int] = {CANONICAL: 0}
        self.tier_of: dict[str, int] = {CANONICAL: int(self.tiers[0]) if self.tiers else 0}
        for v in listed:
            self.place(v["name"], Tier.parse(v["tier"]))
        self.subjects: dict[bytes, Subject] = {}
        self._spellings: set[bytes] = set()
        """Raw keys seen: a text is recorded again where its verifiers failed the first time."""
        self._tasks: dict[bytes, list[Subject]] = {}
        """Subjects by content key, where one content appears with several tasks."""
        self._unplaced: dict[bytes, VerdictRow] = {}
        """Verdicts of which only a later entry tells whose they are: on contents with several
        tasks, and those that were kept of a call before its samples were."""
        self._formless: dict[bytes, Verdict] = {}
        """Why contents have no canonical form whose samples follow in a later entry."""
        self.unknown_checks: _Owners = {}
        """Checks that rewards rest on and this campaign has not recorded."""
        self.unknown_contents: _Owners = {}
        self._borrowed: _Owners = {}
        """Checks that were taken from other entries; their corrections are, too."""
        self.sign = sign_of(ladder)
        """1 if more of the target is better, -1 if less is."""
        self._rule = RewardRule(**ladder.get("reward", {}))
        self._scorers = {
            tier: several for tier, several in scorers_of(ladder).items()
            if self._rule.weights or len(several) > 1
        }  # fmt: skip
        """Verifiers of the tiers whose score is made of more than one number."""
        self._answers: dict[tuple[Subject, int], dict[str, Verdict]] = {}
        """What these have said of a subject, by tier."""
        self.curve = Curve(lambda known: self.worth(self.sign * known))
        self.rejects, self.abstentions, self.failures = Reasons(), Reasons(), Reasons()
        self.units: dict[int, str] = {}
        self.primaries: dict[int, str] = {}
        self.declined: dict[int, list[Cost]] = {}
        """What answers of each tier took that declined to judge, where it was recorded."""
        self.times: dict[int, Times] = {}
        self.respellings = 0
        self.alarms: Sequence[Alarm] = ()
        """What audits have found, from whoever has read it."""
        self.surrogate: SurrogateSummary | None = None

    def place(self, verifier: str, tier: int) -> int:
        """A verifier's place among what a subject has heard; a new one gets the next."""
        self.tier_of.setdefault(verifier, int(tier))
        return self.places.setdefault(verifier, len(self.places))

    def verifiers(self, tier: Tier) -> tuple[int, ...]:
        """Places of the verifiers of a tier; canonicalising counts to the lowest."""
        return tuple(p for name, p in self.places.items() if self.tier_of[name] == tier)

    def memory(self, subject: Subject) -> list[Any]:
        """All that must be known of a subject to go on later, as JSON values.

        A tally that counts a few entries more needs the subjects of these, and no others.
        """
        parts = {
            name: {key.hex(): pack_verdict(verdict) for key, verdict in said.items()}
            for name in self._repeated
            if (said := self._parts.get((subject, name)))
        }
        answers = {
            str(tier): {name: pack_verdict(verdict) for name, verdict in told.items()}
            for tier in self._scorers
            if (told := self._answers.get((subject, tier)))
        }
        return [*subject.memory(), parts, answers]

    def recall(self, content: bytes, task: bytes, memory: Sequence[Any] = ()) -> Subject:
        """Go on with a subject; `memory` is what another tally of the campaign kept of it."""
        subject = self._subject(content, task)
        if memory:
            *own, parts, answers = memory
            subject.recall(own)
            for name, said in parts.items():
                self._parts[subject, name] = {
                    bytes.fromhex(key): unpack_verdict(stored) for key, stored in said.items()
                }
            for tier, said in answers.items():
                self._answers[subject, int(tier)] = {
                    name: unpack_verdict(stored) for name, stored in said.items()
                }
        return subject

    def add(self, entry: Entry, block: Block) -> None:
        """Take one entry of the campaign; what was imported is borrowed, for it cost nothing."""
        if block.kind == "import":
            return
        if block.kind == "belief":
            self._learnt.take(block.facts)
        elif block.kind == "surrogate":
            self.surrogate = SurrogateSummary.of(block.facts)
        samples = block.samples
        owners = self._owners(samples, count=block.kind == "score") if samples else []
        contents = {row.content_key: row for row in block.candidates}
        whose: _Owners = {}
        if samples:
            self._link(samples, owners, whose)
        for candidate in block.candidates:
            self._canonical(candidate)
        for row, seconds in zip(block.verdicts, charges(block), strict=True):
            self._verdict(row, whose, contents.get(row.content_key), seconds or 0.0)
        if samples:
            self._rewards(block, samples, owners)
            self._notice(block, owners)
        self.time(entry, block)
        self.curve.mark()

    def time(self, entry: Entry, block: Block) -> None:
        """Note how long the entry's checks took, as far as it was recorded."""
        count, facts = len(block.verdicts), block.facts
        for row, seconds in zip(block.verdicts, told(facts, "waited", count), strict=False):
            if seconds is not None and row.verdict.is_answer:
                self._times(row.tier).waited(seconds)
        for row, seconds in zip(block.verdicts, told(facts, "worked", count), strict=False):
            if seconds is not None:
                self._times(row.tier).worked(entry.recorded_at - seconds, entry.recorded_at)
        calls = facts.get("took") if block.kind == "score" else None
        last = max((end for *_, end in calls), default=0.0) if isinstance(calls, list) else 0.0
        for name, checks, begun, ended in calls if isinstance(calls, list) else ():
            times, start = self._times(self.tier_of.get(name, self.top)), entry.recorded_at - last
            times.waited(ended - begun, checks)
            times.worked(start + begun, start + ended)

    def _times(self, tier: int) -> Times:
        return self.times.setdefault(tier, Times())

    # -- samples and their subjects ---------------------------------------------------------

    def _owners(self, samples: SampleColumns, *, count: bool) -> list[Subject]:
        owners = []
        for index, content in enumerate(samples.contents):
            task = samples.tasks[index] if samples.tasks else b""
            owners.append(self._subject(content, task))
        for subject in owners:
            subject.samples += count
        return owners

    def _subject(self, content: bytes, task: bytes) -> Subject:
        key = content + task
        found = self.subjects.get(key)
        if found is None:
            found = self.subjects[key] = Subject(content)
            if task:
                self._tasks.setdefault(content, []).append(found)
        return found

    def _link(self, samples: SampleColumns, owners: list[Subject], whose: _Owners) -> None:
        for subject, keys in zip(owners, samples.checks, strict=True):
            for key in keys:
                whose.setdefault(key, {})[subject] = None
                waiting = self._unplaced.pop(key, None)
                if waiting is not None:
                    self._hear(subject, waiting, is_own=True)

    def _of(self, content: bytes) -> list[Subject]:
        """All subjects with a content, the one without a task first."""
        alone = self.subjects.get(content)
        return [*([] if alone is None else [alone]), *self._tasks.get(content, ())]

    # -- verdicts ----------------------------------------------------------------------------

    def _canonical(self, row: CandidateRow) -> None:
        subjects = self._of(row.content_key)
        if row.verdict is not None:
            if not subjects:
                self._formless[row.content_key] = row.verdict
            for subject in subjects:
                self._have_no_form(subject, row.verdict, is_own=True)
            tier = self.tier_of[CANONICAL]
            self._reason(CANONICAL, tier, row.verdict, _text(row.content))
        spelling = row.raw_key or row.content_key
        if subjects and row.verdict is None and spelling not in self._spellings:
            self._spellings.add(spelling)
            self.respellings += subjects[0].spelled
            subjects[0].spelled = True

    def _have_no_form(self, subject: Subject, verdict: Verdict, *, is_own: bool) -> None:
        tier = self.tier_of[CANONICAL]
        subject.hear(0, tier, verdict, is_primary=False)
        subject.own |= is_own << tier
        self._rank(subject)

    def _verdict(
        self, row: VerdictRow, whose: _Owners, candidate: CandidateRow | None,
        spent: float,
    ) -> None:  # fmt: skip
        if row.verdict.evidence.get("waiting"):
            return
        self.curve.seconds += spent
        verdict = row.verdict
        if verdict.is_answer and verdict.outcome is Outcome.ABSTAIN and verdict.cost:
            cost = replace(verdict.cost, seconds=spent)
            self.declined.setdefault(row.tier, []).append(cost)
        example = _text(candidate.content) if candidate else row.content_key
        self._reason(row.verifier, row.tier, row.verdict, example, seconds=spent)
        if is_told_together(row.verdict):  # Each member's part follows with its revision.
            return
        subjects = list(whose.get(row.check_key, ())) or self._of(row.content_key)
        if len(subjects) != 1 and row.check_key not in whose:
            self._unplaced[row.check_key] = row
            return
        if row.verdict.is_answer:
            self.unknown_checks.pop(row.check_key, None)
        for subject in subjects:
            self._hear(subject, row, is_own=True)

    def _hear(self, subject: Subject, row: VerdictRow, *, is_own: bool) -> None:
        place = self.place(row.verifier, row.tier)
        primary = row.verifier not in self._gates
        verdict = row.verdict
        if row.verifier in self._repeated:
            said = self._parts.setdefault((subject, row.verifier), {})
            said[row.check_key] = verdict
            verdict = combined(list(said.values()))
        subject.hear(place, row.tier, verdict, is_primary=primary)
        if primary and row.tier in self._scorers and not verdict.failed_at:
            answers = self._answers.setdefault((subject, row.tier), {})
            answers[row.verifier] = verdict
            subject.rate(row.tier, tier_score(self._rule, self._scorers[row.tier], answers))
        for name in self._features.get(row.verifier, ()):
            told = {f"{row.verifier}.{name}": verdict.evidence.get(name)}
            subject.features = {**subject.features, **told}
        if is_own and row.verdict.is_answer:
            subject.own |= 1 << row.tier
        if primary and row.verdict.score is not None:
            self.units.setdefault(row.tier, row.verdict.unit)
            self.primaries.setdefault(row.tier, row.verifier)
        self._rank(subject)

    def _reason(
        self, verifier: str, tier: int, verdict: Verdict, example: str | bytes,
        seconds: float = 0.0,
    ) -> None:  # fmt: skip
        if verdict.failed_at is not None:
            self.failures.add(
                verifier, tier, verdict.reason, example,
                boundary=verdict.failed_at, seconds=seconds,
            )  # fmt: skip
        elif verdict.outcome is Outcome.REJECT:
            self.rejects.add(verifier, tier, verdict.reason, example)
        elif verdict.outcome is Outcome.ABSTAIN:
            self.abstentions.add(verifier, tier, verdict.reason, example)

    # -- rewards, decisions, runs ---------------------------------------------------------------

    def _rewards(self, block: Block, samples: SampleColumns, owners: list[Subject]) -> None:
        positions = listed(samples.positions)
        for position, subject, reward in zip(positions, owners, block.rewards, strict=False):
            self.curve.tell(samples.run, samples.step, position, reward)
            subject.reward, subject.uncertainty = reward.value, reward.uncertainty
            subject.reached = -1 if reward.tier is None else int(reward.tier)
            subject.pending = reward.pending
        for columns in block.decisions:
            for place, mean, deviation in zip(
                columns.sample, columns.mean, columns.deviation, strict=True
            ):
                # What is predicted is what was believed before the top tier answered.
                if owners[place].score(self.top) is None and not isnan(mean):
                    owners[place].mean = mean
                    owners[place].deviation = None if isnan(deviation) else deviation
        for subject in owners:
            self._rank(subject)

    def _rank(self, subject: Subject) -> None:
        """Compare a subject with the others anew."""
        is_out = not self.are_comparable or self.is_rejected(subject)
        found = None if is_out else subject.best_known(self.top)
        self.curve.rank(subject, None if found is None else self.sign * found[0])

    @property
    def top(self) -> int:
        """The ladder's highest tier: what it says is the truth, as far as it can be known."""
        return int(self.tiers[-1]) if self.tiers else 0

    def is_rejected(self, subject: Subject) -> bool:
        """Whether its reward is a reject's: nobody who may know better has overruled it."""
        if subject.stand(self.places.values()) is not Stand.REJECTED:
            return False
        rejects = [
            Reject(name, name in self._definitive, self.tier_of[name] == self.top)
            for name, place in self.places.items() if subject.said(place) is Stand.REJECTED
        ]  # fmt: skip
        return deciding_reject(rejects, is_scored=self._is_scored(subject)) is not None

    def _is_scored(self, subject: Subject) -> bool:
        """Whether the top tier has scored it, and each of its verifiers has accepted it."""
        names = [n for n in self.places if n != CANONICAL and self.tier_of[n] == self.top]
        if any(subject.said(self.places[name]) is not Stand.ACCEPTED for name in names):
            return False
        return subject.score(self.top) is not None or self._gates.issuperset(names)

    def worth(self, known: float) -> float:
        """Bring a value of the target to the learner's scale."""
        return self._rule.scale(known, sign=self.sign)

    def truth(self, subject: Subject) -> float | None:
        """What the top tier says of a subject, on the learner's scale; None if it has not judged.

        Of one that it has rejected that is what a reject earns.
        """
        places = [place for n, place in self.places.items() if self.tier_of[n] == self.top]
        stand, scored = subject.stand(places), subject.score(self.top)
        if stand is Stand.REJECTED and not (scored and self._rule.partial_credit):
            return self._rule.reject
        is_judged = stand in (Stand.ACCEPTED, Stand.REJECTED)
        return self.worth(scored[0]) if is_judged and scored is not None else None

    def doubt(self, subject: Subject) -> str:
        """The verifier that all that is known of a subject rests on, if it is being gamed.

        Empty where none is, and where the top tier has judged the candidate.
        """
        deepest = subject.deepest
        if deepest is None or deepest == self.top:
            return ""
        name = self.primaries.get(deepest, "")
        return name if any(a.casts_doubt and a.stratum == name for a in self.alarms) else ""

    def _notice(self, block: Block, owners: list[Subject]) -> None:
        """Remember what other campaigns must have recorded."""
        recorded = {row.check_key for row in block.verdicts}
        samples = block.samples
        if samples is None:
            return
        for subject, keys in zip(owners, samples.checks, strict=True):
            if not keys and not subject.said(0):
                known = self._formless.get(subject.content)
                if known is None:
                    self.unknown_contents.setdefault(subject.content, {})[subject] = None
                else:
                    self._have_no_form(subject, known, is_own=True)
            if len(keys) > subject.answers:
                for key in set(keys) - recorded:
                    self.unknown_checks.setdefault(key, {})[subject] = None

    def believe(self) -> None:
        """Believe what the lessons teach by now of all that the top tier has not judged.

        To be called when every entry was taken.
        """
        fair = [subject for subject in self.subjects.values() if subject.known is not None]
        beliefs = self._learnt.beliefs([s.scores for s in fair], [s.features for s in fair])
        for subject, (mean, deviation) in zip(fair, beliefs, strict=False):
            if not isnan(mean):
                subject.mean, subject.known = mean, self.sign * mean
                subject.deviation = None if isnan(deviation) else deviation
        self.curve.order(fair)

    # -- what other campaigns recorded ------------------------------------------------------------

    def borrow(self, block: Block, *, is_own: bool = False) -> None:
        """Take from another entry what this campaign's rewards rest on.

        Args:
            block: The entry.
            is_own: Whether the campaign has paid for what it tells; else it cost nothing.
        """
        for row in block.verdicts:
            owners = self.unknown_checks.pop(row.check_key, None)
            if owners is None and block.kind in SUPERSEDING:
                owners = self._borrowed.get(row.check_key)
            for subject in owners or ():
                self._hear(subject, row, is_own=is_own)
            if owners:
                self._borrowed[row.check_key] = owners
        for candidate in block.candidates:
            if candidate.verdict is not None:
                for subject in self.unknown_contents.pop(candidate.content_key, ()):
                    self._have_no_form(subject, candidate.verdict, is_own=is_own)


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode("utf-8", "replace")
