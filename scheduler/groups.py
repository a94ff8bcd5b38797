"""Groups: samples that a verifier compares are gathered, judged together, and revised when late.

What such a verifier says of a candidate holds among the members of one group. So a member has a
standing of its own (`Standing.in_group`), and its check key is made of all members' check keys.
Members that come in several calls are waited for until a deadline; whoever was judged without all
of them is judged once more, with all, as soon as the last one comes. Whoever is cancelled leaves
the group, which is complete without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from verifier_ladder.candidate import Candidate, sample_place
from verifier_ladder.cost import Cost
from verifier_ladder.group import apart, group_of, with_share
from verifier_ladder.hidden import without_hidden
from verifier_ladder.keys import group_key, member_key
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, Request
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.asking import Asked, Asking
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.comparison import ALONE
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.gathering import (
    Gathered,
    Gathering,
    GroupName,
    each,
)
from verifier_ladder.scheduler.grouping import Grouping
from verifier_ladder.scheduler.pipeline import drive
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.scheduler.revisions import Revisions
from verifier_ladder.scheduler.samplehistory import samples_of_step
from verifier_ladder.scheduler.samples import TakenError
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.withdrawal import Wanted
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.scheduler.scorer import Batch

_LATE = "its group was not judged within the deadline"
Party = Mapping[int, Standing]
"""Samples that are compared with each other, by position."""


@dataclass(slots=True)
class Group:
    """One group before one verifier."""

    verifier: Verifier
    key: bytes
    members: list[tuple[bytes, list[Standing], int]]
    """Check key in the group, standings in the group, how often it is there; in a fixed order. The
    standings of one member differ in what the verifier does not read."""
    alone: list[bytes]
    """The check key that each member would have by itself."""
    news: list[tuple[bytes, bytes, Verdict]] = field(default_factory=list)
    """What the ledger does not hold yet: check key, content key, verdict."""

    @property
    def is_known(self) -> bool:
        """Whether all members have been judged."""
        return all(self.verifier.name in alike[0].verdicts for _, alike, _ in self.members)

    @property
    def candidate(self) -> Candidate:
        """The whole group, as the verifier is given it."""
        standings = [alike[0] for _, alike, _ in self.members]
        seen = Standing.all_seen_by(standings, self.verifier)
        return group_of([(one, n) for one, (*_, n) in zip(seen, self.members, strict=True)])

    def take(self, known: Mapping[bytes, Verdict]) -> None:
        """Take what was said of members before."""
        for key, alike, _ in self.members:
            if key in known:
                self._tell(alike, known[key])

    def learn(self, verdict: Verdict) -> None:
        """Take what was said of the group; a member that has an answer keeps it."""
        said = iter(apart(verdict, sum(count for *_, count in self.members)))
        for key, alike, count in self.members:
            told = [next(said) for _ in range(count)]
            before = alike[0].verdicts.get(self.verifier.name)
            if before is not None and before.is_answer:
                continue
            one = told[0] if told.count(told[0]) == count else combined(told)
            one = without_hidden(self.verifier, alike[0].candidate, one)
            one = with_share(one, verdict.cost, len(self.members))
            self._tell(alike, one)
            self.news.append((key, alike[0].content_key, one))

    def _tell(self, alike: Sequence[Standing], verdict: Verdict) -> None:
        for standing in alike:
            standing.learn(self.verifier.name, verdict)

    @property
    def is_answered(self) -> bool:
        """Whether all members have been judged, and the verifier has failed on none."""
        name = self.verifier.name
        return self.is_known and all(
            alike[0].verdicts[name].is_answer for _, alike, _ in self.members
        )

    def unpaid(self) -> list[tuple[bytes, bytes, Verdict]]:
        """What is not recorded yet, and was asked and is paid by another call."""
        return [(key, content, replace(said, cost=Cost())) for key, content, said in self.news]

    def give_up(self, place: int) -> None:
        """Leave those unknown about whom nothing was said in time.

        That is filed as what is known of each by itself: another call may be told more of the
        same group, whose keys are for that.
        """
        self.news = []
        for (_, alike, _), plain in zip(self.members, self.alone, strict=True):
            if self.verifier.name not in alike[0].verdicts:
                _rekey(alike, place, plain)
                verdict = Verdict.abstain(_LATE, failed_at="engine")
                self._tell(alike, verdict)
                self.news.append((plain, alike[0].content_key, verdict))


class AskedGroups(Asked):
    """The groups that one verifier is asked about: one check for each."""

    def __init__(self, verifier: Verifier, ledger: Ledger, groups: Iterable[Group]) -> None:
        """Ask about groups; those of equal members share a check."""
        super().__init__(verifier, 0)
        self._ledger = ledger
        self._groups: dict[bytes, list[Group]] = {}
        for group in groups:
            self._groups.setdefault(group.key, []).append(group)
        self.first = {key: alike[0].members[0][1][0] for key, alike in self._groups.items()}

    def candidates(self, keys: Sequence[bytes]) -> list[Candidate]:
        """The groups, each as one candidate."""
        return [self._groups[key][0].candidate for key in keys]

    def known(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of which the ledger knows what was said of each member."""
        groups = {key: self._groups[key] for key in keys}
        unknown = [alike for alike in groups.values() if not alike[0].is_known]
        members = {member for alike in unknown for member, *_ in alike[0].members}
        verdicts = self._ledger.verdicts(list(members)) if members else {}
        for alike in unknown if verdicts else ():
            for group in alike:
                group.take(verdicts)
        return [key for key, alike in groups.items() if alike[0].is_known]

    def learn(self, verdicts: Mapping[bytes, Verdict]) -> None:
        """Tell the members of each group what was said."""
        for key, verdict in verdicts.items():
            for group in self._groups[key]:
                group.learn(verdict)

    def rows(
        self, told: Mapping[bytes, Verdict]
    ) -> tuple[list[bytes], list[bytes], list[Verdict]]:
        """What the ledger keeps of what was said: a verdict for each member."""
        news = [row for key in told for row in self._groups[key][0].news]
        for group in (group for key in told for group in self._groups[key]):
            group.news = []
        keys, contents, verdicts = zip(*news, strict=True) if news else ((), (), ())
        return list(keys), list(contents), list(verdicts)


class Groups(Grouping):
    """Gathers the groups of one campaign, and has them judged before they are recorded.

    **Threads.** Any number of threads may bring samples at once; those that wait for the same
    group go on together when it is complete.
    """

    decides_later = False

    def __init__(self, desk: Desk, asking: Asking, workers: int) -> None:
        """Work at a campaign's desk."""
        super().__init__(desk)
        self._asking, self._workers = asking, workers
        self._verifiers = [
            (place, verifier) for place, (verifier, _) in enumerate(desk.ladder.askings)
            if verifier.scope == "group"
        ]  # fmt: skip

    def judge(
        self,
        batch: Batch,
        standings: Sequence[Standing],
        until: float | None,
        arrivals: Arrivals,
    ) -> Gathered:
        """See `Grouping.judge`: all are judged now."""
        if not self._verifiers:
            return Gathered(list(standings), {}, {}, {})
        told = self._gatherings.gather(batch, standings)
        longest = max(verifier.timeout for _, verifier in self._verifiers)
        self._gatherings.wait(told, set(batch.positions), until, longest)
        formed, groups = self._formed(self._parties(batch, told, until), arrivals)
        told.standings = self._own(batch, told, formed)
        self._ask(groups, until, arrivals)
        own = {key for standing in told.standings for key in standing.keys}
        for group in groups:  # Another call may have asked, and not have written it down yet.
            _note(arrivals, group.verifier, [row for row in group.unpaid() if row[0] in own])
        return told

    @staticmethod
    def _own(batch: Batch, told: Gathered, formed: Mapping[int, Standing]) -> list[Standing]:
        """The standings of a call's samples, unless another call has brought others for them."""
        for position, standing in zip(batch.positions, told.standings, strict=True):
            if formed[position].subject != standing.subject:
                raise TakenError(
                    f"{sample_place(batch.run, batch.step, position)} came with another candidate "
                    "at the same time; give each sample an id of its own"
                )
        return [formed[position] for position in batch.positions]

    def _parties(self, batch: Batch, told: Gathered, until: float | None) -> list[Party]:
        """Who is compared with whom; of other calls' samples it is a copy as of now."""
        mine = {position: place for place, position in enumerate(batch.positions)}
        with self._gatherings.changed:
            told.cancelled = {
                batch.positions[place] for place, gathering in told.by_place.items()
                if batch.positions[place] in gathering.cancelled
            }  # fmt: skip
            parties: list[Party] = [
                {position: told.standings[place]} for position, place in mine.items()
                if place not in told.by_place or position in told.cancelled
            ]  # fmt: skip
            for gathering in each(told.by_place.values()):
                members, missing = dict(gathering.members), gathering.missing
                if missing:
                    told.partial |= {
                        position: (len(members), gathering.size)
                        for position in members.keys() & mine
                    }
                if not missing or until is not None:
                    parties.append(members)
                else:
                    parties += [{n: members[n]} for n in members.keys() & mine]
        return parties

    # -- judging -----------------------------------------------------------------------------

    def _formed(
        self, parties: Sequence[Party], arrivals: Arrivals
    ) -> tuple[dict[int, Standing], list[Group]]:
        """The standings that samples have in their groups, and these groups.

        Args:
            parties: Who is compared with whom.
            arrivals: Where to note who has nobody to be compared with.

        Returns:
            The standing of each sample in its group, by position; the groups of two or more, for
            each verifier.
        """
        made: dict[int, Standing] = {}
        groups: list[Group] = []
        for party in parties:
            inside = {one.subject: self._inside(one) for one in party.values()}
            made |= {position: inside[one.subject] for position, one in party.items()}
            counts = Counter(one.subject for one in party.values())
            judged = {
                subject: standing for subject, standing in inside.items()
                if standing.problem is None and not self._asking.is_stopped(standing)
            }  # fmt: skip
            if sum(counts[subject] for subject in judged) > 1:
                rows = [(standing, counts[subject]) for subject, standing in judged.items()]
                groups += [self._group(*asked, rows) for asked in self._verifiers]
                continue
            for one in party.values():
                if one.subject in judged:
                    self._note_alone(one, judged[one.subject], arrivals)
        return made, groups

    def _inside(self, standing: Standing) -> Standing:
        """A member of a group that nobody has judged yet."""
        made = standing.in_group()
        for _, verifier in self._verifiers:
            made.verdicts.pop(verifier.name, None)
        return made

    @staticmethod
    def _group(place: int, verifier: Verifier, rows: Sequence[tuple[Standing, int]]) -> Group:
        """A group, whose members take the check keys that they have in it."""
        counts: Counter[bytes] = Counter()
        alike: dict[bytes, list[Standing]] = {}
        for standing, count in rows:  # Some differ only in what the verifier does not read.
            counts[standing.keys[place]] += count
            alike.setdefault(standing.keys[place], []).append(standing)
        alone = sorted(alike)
        key = group_key(verifier.key_digest, counts.elements())
        members = []
        for plain in alone:
            mine = member_key(key, plain)
            _rekey(alike[plain], place, mine)
            members.append((mine, alike[plain], counts[plain]))
        return Group(verifier, key, members, alone)

    def _note_alone(self, known: Standing, standing: Standing, arrivals: Arrivals) -> None:
        """Decline to judge who has nobody to be compared with."""
        for place, verifier in self._verifiers:
            verdict = Verdict.abstain(ALONE)
            standing.learn(verifier.name, verdict)
            if verifier.name not in known.verdicts:  # As in the ledger.
                _note(arrivals, verifier, [(standing.keys[place], standing.content_key, verdict)])

    def _ask(self, groups: Sequence[Group], until: float | None, arrivals: Arrivals) -> None:
        """Ask every verifier about its groups, and note which it did not reach in time."""
        for place, verifier in self._verifiers:
            mine = [group for group in groups if group.verifier is verifier]
            parts = 1 if verifier.isolation == "inline" else max(1, self._workers)
            jobs = [
                self._asking.ask_about(AskedGroups(verifier, self._desk.ledger, part), arrivals)
                for n in range(parts) if (part := mine[n::parts])
            ]  # fmt: skip
            drive(jobs, until, window=max(1, len(jobs)))
            for group in mine:
                if not group.is_known:
                    group.give_up(place)

    # -- what comes late ---------------------------------------------------------------------

    def _go_on(self, batch: Batch, told: Gathered, until: float | None, *, is_new: bool) -> None:
        """Revise samples that were judged without the rest."""
        del batch, is_new
        for key, gathering in told.named():
            if gathering.size and not gathering.missing:
                self.complete(key, gathering, until)

    def complete(self, key: GroupName, gathering: Gathering, until: float | None) -> None:
        """Revise the samples that were judged without some members of a group; it is whole now.

        Where another call is at work on the answer and the time is up, they are revised by that
        call, once its answer is recorded: it may be about another group of equal members.
        """
        with Arrivals() as arrivals:
            formed, groups = self._formed([dict(gathering.members)], arrivals)
            if self._stale(gathering, formed, groups):
                self._ask_whole(groups, until, arrivals)
                self._revise(key, gathering, formed, groups)
        with self._gatherings.changed:
            is_answered = not self._stale(gathering, formed, groups)
            if is_answered and gathering.answered.keys() == gathering.members.keys():
                self._gatherings.close(key, gathering)
        for flight in () if is_answered else arrivals.awaited:
            flight.closed.add_done_callback(lambda _: self.complete(key, gathering, until))

    def _revise(
        self,
        key: GroupName,
        gathering: Gathering,
        formed: Mapping[int, Standing],
        groups: Sequence[Group],
    ) -> None:
        with self._desk.lock:  # Others may revise them, too.
            stale = self._stale(gathering, formed, groups)
            if stale and all(group.is_answered for group in groups):
                self._write(key, stale)
                gathering.partial -= stale.keys()
                for position, standing in stale.items():
                    gathering.answered[position] = self._answers(standing)

    def _stale(
        self, gathering: Gathering, formed: Mapping[int, Standing], groups: Sequence[Group]
    ) -> dict[int, Standing]:
        """Recorded samples whose reward does not rest on the whole group, as they stand in it."""
        own = {member for group in groups for member, *_ in group.members}
        recorded = dict(gathering.answered)
        return {
            position: formed[position] for position, answered in recorded.items()
            if position in formed and (
                position in gathering.partial
                or not own.intersection(formed[position].keys) <= answered
            )
        }  # fmt: skip

    def _ask_whole(self, groups: Sequence[Group], until: float | None, arrivals: Arrivals) -> None:
        """Have a whole group judged, unless it was; what is new is recorded at once."""
        self._ask(groups, until, arrivals)
        for group in groups if all(group.is_answered for group in groups) else ():
            _note(arrivals, group.verifier, group.unpaid())
        if arrivals.verdicts or arrivals.charges:
            block = Block(
                "score", self._desk.campaign, verdicts=arrivals.verdicts, facts=arrivals.facts()
            )
            self._desk.ledger.append(block, charges=arrivals.charges)

    # -- who is cancelled --------------------------------------------------------------------

    def withdraw(self, wanted: Wanted) -> int:
        """See `Grouping.withdraw`: without a verifier of groups nobody waits for one."""
        return super().withdraw(wanted) if self._verifiers else 0

    def _answers(self, standing: Standing) -> frozenset[bytes]:
        """Keys of a candidate's checks that have an answer."""
        verdicts, askings = standing.verdicts, self._desk.ladder.askings
        return frozenset(
            key for (verifier, _), key in zip(askings, standing.keys, strict=False)
            if verifier.name in verdicts and verdicts[verifier.name].is_answer
        )  # fmt: skip

    def _write(self, key: GroupName, stale: Mapping[int, Standing]) -> None:
        """Write revisions of recorded samples."""
        run, step, _ = key
        known = samples_of_step(self._desk.ledger, self._desk.campaign, run, step, stale.keys())
        place = self._verifiers[0][0]
        requests = [
            Request(
                standing.keys[place], self._desk.campaign, run, step, position,
                standing.content_key, known[position].state(candidate_json(standing.candidate)),
            )
            for position, standing in stale.items()
        ]  # fmt: skip
        revisions = Revisions(self._desk, requests, list(stale.values()), is_held=False)
        revisions.write(range(len(requests)))


def _rekey(standings: Iterable[Standing], place: int, key: bytes) -> None:
    """Let standings be asked about under another check key."""
    for standing in standings:
        standing.keys = (*standing.keys[:place], key, *standing.keys[place + 1 :])


def _note(
    arrivals: Arrivals, verifier: Verifier, rows: Sequence[tuple[bytes, bytes, Verdict]]
) -> None:
    """Note verdicts that cost nothing."""
    for key, content, verdict in rows:
        arrivals.verdicts.extend(
            [key], [content], [verifier.name], [verifier.version], [int(verifier.tier)],
            [verdict], [1],
        )  # fmt: skip
