"""Groups before a verifier above the fast tier: one decision, one draw and one check for each.

Samples are recorded as they come, with what the fast tier says, and wait. Once all of a group are
there it is decided as one row of the climb, in one entry for all of its members, and asked about
in one check of the work queue, which any worker takes. What that says is told to each member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.climb import Scene, Step
from verifier_ladder.scheduler.comparison import ALONE, Comparison, comparing
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.gathering import (
    Gathered,
    Gathering,
    GroupName,
)
from verifier_ladder.scheduler.grouping import Grouping
from verifier_ladder.scheduler.reviser import Reviser
from verifier_ladder.scheduler.revisions import Revisions
from verifier_ladder.scheduler.samplehistory import (
    DECIDED,
    WHOLE,
    RecordedSample,
    samples_of_step,
)
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.scheduler.scorer import Batch
    from verifier_ladder.verifiers import Verifier

_LATE = "not reached within the deadline"
Members = Mapping[int, Standing]
"""What is known of samples by themselves, by position."""


class Party(NamedTuple):
    """Samples of one step that are decided together."""

    members: Members
    is_whole: bool
    """Whether no others of their group are to come."""


class Comparisons(Grouping):
    """Decides the groups of one campaign whose top tier compares their members.

    **Threads.** Any number of threads may bring samples at once: whoever records the last one of
    a group decides it.
    """

    decides_later = True

    def __init__(self, desk: Desk, reviser: Reviser) -> None:
        """Work at a campaign's desk."""
        super().__init__(desk)
        self._reviser = reviser
        self._place, self._verifier = cast("tuple[int, Verifier]", comparing(desk.ladder))
        self._more: int | None = None
        """How many samples follow in later calls, as the last call has said."""

    def restore(self) -> None:
        """Decide groups that an earlier process has recorded and not decided."""
        for run, step in self._desk.undecided.steps():
            alike = self._gatherings.take_up(run, step)
            self._decide(run, step, [Party(each, is_whole=True) for each in alike], None)
        for key, gathering in list(self._gatherings.open.items()):
            if not gathering.missing and not gathering.is_lost:
                self.complete(key, gathering, None)

    def judge(
        self,
        batch: Batch,
        standings: Sequence[Standing],
        until: float | None,  # noqa: ARG002 - as in the fast tier
        arrivals: Arrivals,
    ) -> Gathered:
        """See `Grouping.judge`: those that are open wait for the rest of their group."""
        with self._desk.lock:
            settled = self._settled(standings, arrivals)
        told = self._gatherings.gather(batch, settled)
        for place, standing in enumerate(settled):
            if standing.end < 0:
                gathering = told.by_place.get(place)
                came, size = (len(gathering.members), gathering.size) if gathering else (1, 1)
                told.partial[batch.positions[place]] = came, size or came
        return told

    def _settled(
        self, standings: Iterable[Standing], arrivals: Arrivals | None = None
    ) -> list[Standing]:
        """What is known of samples: of what the fast tier has not said in time, nothing."""
        made: dict[int, Standing] = {}
        known = list(standings)
        self._desk.climb.knowledge.rewards(known)
        for standing in known:
            if id(standing) not in made:
                made[id(standing)] = self._ended(standing, arrivals)
        self._desk.climb.knowledge.rewards(list(made.values()))
        return [made[id(standing)] for standing in known]

    def _ended(self, standing: Standing, arrivals: Arrivals | None) -> Standing:
        missing = [
            (verifier, key)
            for (verifier, _), key in zip(self._desk.ladder.askings, standing.keys, strict=False)
            if verifier.tier == Tier.FAST and verifier.name not in standing.verdicts
        ]
        if standing.end >= 0 or not missing:
            return standing
        made, verdict = standing.in_group(), Verdict.abstain(_LATE, failed_at="engine")
        for verifier, key in missing:
            made.verdicts[verifier.name] = verdict
            if arrivals is not None:
                arrivals.verdicts.extend(
                    [key], [standing.content_key], [verifier.name], [verifier.version],
                    [int(verifier.tier)], [verdict], [1],
                )  # fmt: skip
        return made

    # -- deciding ----------------------------------------------------------------------------

    def recording(self, told: Gathered) -> None:
        """Hear that a call is about to be recorded: it may be the last of its groups."""
        self._desk.undecided.begin(told.call)

    def _answers(self, standing: Standing) -> frozenset[bytes]:
        del standing
        return frozenset()  # It is asked about once it is recorded.

    def _go_on(self, batch: Batch, told: Gathered, until: float | None, *, is_new: bool) -> None:
        """Wait for the rest of a call's groups, and decide them.

        Groups whose members have not all come are decided shortly before the deadline, once, if
        there are two or more.
        """
        if is_new:
            self._more = batch.more
        self._gatherings.wait(told, set(batch.positions), until, self._verifier.timeout)
        alone = [
            Party({position: told.standings[place]}, is_whole=True)
            for place, position in enumerate(batch.positions) if place not in told.by_place
        ]  # fmt: skip
        with self._gatherings.changed:
            ready = [
                (key, gathering, Party(dict(gathering.members), is_whole=not gathering.missing))
                for key, gathering in told.named() if until is not None or not gathering.missing
            ]  # fmt: skip
        decided = self._decide(
            batch.run, batch.step, [*alone, *(party for *_, party in ready)], until
        )
        with self._gatherings.changed:
            for key, gathering, party in ready:
                if id(party) in decided:
                    self._end(key, gathering)
            if until is not None:  # Whoever records the last sample of a group decides it.
                self._gatherings.changed.wait_for(
                    lambda: all(one.is_over for _, one, party in ready if party.is_whole),
                    max(0.0, until - monotonic()),
                )
        self._desk.undecided.end(told.call)

    def complete(self, key: GroupName, gathering: Gathering, until: float | None) -> None:
        """Decide a group that is complete."""
        run, step, _ = key
        party = Party(dict(gathering.members), is_whole=True)
        if self._decide(run, step, [party], until):
            with self._gatherings.changed:
                self._end(key, gathering)

    def _end(self, key: GroupName, gathering: Gathering) -> None:
        """Forget a group that is decided, and tell who waits for that."""
        gathering.is_over = True
        self._gatherings.close(key, gathering)
        self._gatherings.changed.notify_all()

    def _decide(
        self, run: str, step: int, parties: Sequence[Party], until: float | None
    ) -> set[int]:
        """Decide groups of one step that are recorded, all of them together.

        Returns:
            The ids of the parties that are whole, and decided now.
        """
        if not parties:
            return set()
        with self._desk.lock:
            theirs = {position for party in parties for position in party.members}
            known = samples_of_step(self._desk.ledger, self._desk.campaign, run, step, theirs)
            members: dict[int, Standing] = {}
            standing: dict[int, Standing] = {}
            new, partial = 0, set[int]()
            for party in parties:
                mine = self._compared(party, known)
                is_same = all(known[n].party == _rows(member) for n, member in mine.items())
                (standing if is_same else members).update(mine)
                if any(known[position].party is None for position in mine):
                    new += len(party.members)
                if not party.is_whole:
                    partial |= mine.keys()
            terms = _Terms(run, step, new, self._more, partial, until)
            for kind, chosen in ((Decision, members), (Completion, standing)):
                if chosen:
                    self._write(kind, chosen, known, terms)
            return {id(p) for p in parties if p.is_whole and p.members.keys() <= known.keys()}

    def _compared(self, party: Party, known: Mapping[int, RecordedSample]) -> Members:
        """The members that are to be decided, as they stand in their group; none if they were."""
        recorded = {n: one for n, one in party.members.items() if n in known}
        if party.is_whole and len(recorded) < len(party.members):
            return {}  # Whoever records the last one decides.
        settled = dict(zip(recorded, self._settled(recorded.values()), strict=True))
        open_ = {n: s for n, s in settled.items() if s.end < 0 and not known[n].has_left}
        group = Comparison.of(self._verifier, self._place, open_.values())
        before = [known[n] for n in open_]
        if all(one.is_decided(group.as_json(), whole=party.is_whole) for one in before):
            return {}
        if not party.is_whole and (group.size == 1 or any(one.party for one in before)):
            return {}  # Too few, or asked once already: it is asked once more when all are there.
        inside = {id(one): group.member(one) for one in open_.values()}
        verdict = self._known(group)
        for one in {id(one): one for one in open_.values()}.values():
            if verdict is not None:
                group.tell(inside[id(one)], one.keys[self._place], verdict)
        return {n: inside[id(one)] for n, one in open_.items()}

    def _known(self, group: Comparison) -> Verdict | None:
        """What is known of a group without asking."""
        if group.size == 1:
            return Verdict.abstain(ALONE)
        verdict = self._desk.ledger.verdicts([group.key]).get(group.key)
        return verdict if verdict is not None and verdict.is_answer else None

    def _write(
        self, kind: type[Decision], members: Members, known: Mapping[int, RecordedSample],
        terms: _Terms,
    ) -> None:  # fmt: skip
        """Decide members of groups, and write what came of it."""
        desk = self._desk
        hints: dict[str, Any] = {}
        if terms.until is not None:
            hints["until"] = desk.ledger.clock() + terms.until - monotonic()
        superseded = self._superseded(members, known, terms)
        before = {request.position: request.state for request in superseded}
        requests = [
            Request(
                standing.keys[self._place], desk.campaign, terms.run, terms.step, position,
                standing.content_key,
                {
                    **known[position].state(candidate_json(standing.candidate)), **hints,
                    **kind.earlier_draw(known[position], before.get(position, {})),
                    "party": _rows(standing), "partial": position in terms.partial,
                },
            )
            for position, standing in members.items()
        ]  # fmt: skip
        decision = kind(desk, requests, list(members.values()), superseded, terms)
        made = decision.write(range(len(requests)))
        asked = dict.fromkeys(request.check_key for request in made)
        desk.climb.knowledge.settle([r for r in superseded if r.check_key not in asked])
        self._reviser.take_up(list(asked))

    def _superseded(
        self, members: Members, known: Mapping[int, RecordedSample], terms: _Terms
    ) -> list[Request]:
        """What these samples wait for since they, or some of their group, were asked about."""
        parties = [party for n in members if (party := known[n].party) is not None]
        if not parties:
            return []
        groups = [Comparison.from_json(self._verifier, self._place, rows) for rows in parties]
        keys = list(dict.fromkeys(group.key for group in groups))
        samples = {(terms.run, terms.step, position) for position in members}
        found = self._desk.requests.read(check_keys=keys)
        return [request for request in found if request[2:5] in samples]


class _Terms(NamedTuple):
    """What else a decision depends on."""

    run: str
    step: int
    new: int
    """How many samples are decided for the first time."""
    more: int | None
    partial: set[int]
    """Positions of those whose groups are not complete."""
    until: float | None


class Decision(Revisions):
    """Decides recorded samples as the groups that they are members of."""

    def __init__(
        self,
        desk: Desk,
        requests: Sequence[Request],
        standings: Sequence[Standing],
        superseded: Sequence[Request],
        terms: _Terms,
    ) -> None:
        """Decide; nothing is written yet."""
        self._superseded = superseded
        super().__init__(desk, requests, standings, is_held=False, new=terms.new, more=terms.more)

    @staticmethod
    def earlier_draw(sample: RecordedSample, waiting: Mapping[str, Any]) -> Mapping[str, Any]:
        """What counts of a sample's earlier draw: nothing, it is drawn with its group anew."""
        del sample, waiting
        return {}

    def _answered(self, places: Sequence[int]) -> list[Request]:
        chosen = {self.requests[place].position for place in places}
        return [request for request in self._superseded if request.position in chosen]

    def _unwanted(self, places: Sequence[int]) -> list[bytes]:
        return list(dict.fromkeys(request.check_key for request in self._answered(places)))

    def _facts(self, places: Sequence[int]) -> dict[str, Any]:
        groups: dict[int, list[int]] = {}
        for place in places:
            groups.setdefault(id(self.standings[place].comparison), []).append(place)
        rows = [(each, self.requests[each[0]].state) for each in groups.values()]
        return {
            DECIDED: [
                [[self.requests[n].position for n in each], state["party"], state["partial"]]
                for each, state in rows
            ]
        }


class Completion(Decision):
    """Groups that were decided with all members that they have, before it was known of these.

    All that has come since was rejected below. So they are drawn no more: what was said of them
    stays, and so does the check that they wait for.
    """

    @staticmethod
    def earlier_draw(sample: RecordedSample, waiting: Mapping[str, Any]) -> Mapping[str, Any]:
        """What counts of a sample's earlier draw: all of it."""
        return {
            "draw": waiting.get("draw", sample.draw),
            "left": waiting.get("left", sample.share_left),
        }

    def _decided(self, scene: Scene) -> Step:
        return self._desk.climb.stand(scene)

    def _facts(self, places: Sequence[int]) -> dict[str, Any]:
        return {WHOLE: [self.requests[place].position for place in places]}


def _rows(standing: Standing) -> list[list[Any]]:
    group = standing.comparison
    return [] if group is None else group.as_json()
