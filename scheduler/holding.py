"""Holding: samples that a sequential policy compares with each other before it pays for them.

Such a policy buys the most promising check, looks at what it said, and compares again. What it
does not buy yet is held: asked for in the ledger, and not claimed by anybody.
"""

from __future__ import annotations

from collections.abc import Iterable

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger.records import HELD, CheckState, Request
from verifier_ladder.scheduler.candidates import candidate_of
from verifier_ladder.scheduler.climb import Peer
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.revisions import Revisions
from verifier_ladder.scheduler.standing import Standing

_EASINGS = 64
"""How often prices are halved before nothing is taken to be worth its cost."""


class Holding:
    """The held samples of one campaign.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self, desk: Desk, width: int) -> None:
        """Hold nothing yet.

        Args:
            desk: The campaign's desk.
            width: How many checks may be at work at once, where the policy does not say.
        """
        self._desk = desk
        self._held: dict[SampleId, Request] = {}
        self._at_work: set[SampleId] = set()
        self._over: list[Peer] = []
        self._width = int(getattr(desk.ladder.policy, "width", None) or width)
        self.is_needed = desk.ladder.policy.is_sequential

    def restore(self) -> None:
        """Take up what an earlier process held."""
        if not self.is_needed:
            return
        campaign = self._desk.campaign
        waiting = self._desk.ledger.checks(
            states=[CheckState.QUEUED], campaign=campaign, payloads=False
        )
        held = {check.check_key for check in waiting if check.not_before == HELD}
        self.note(self._desk.requests.read(), held)

    def note(self, requests: Iterable[Request], held: set[bytes]) -> None:
        """Hear of samples that ask for a check; those in `held` are held back."""
        for request in requests:
            sample = _sample(request)
            if request.check_key in held:
                self._held[sample] = request
            else:
                self._at_work.add(sample)

    def over(self, peers: Iterable[Peer]) -> None:
        """Hear of samples whose climb is over: others of their group are compared with them."""
        self._over.extend(peers)

    def changed(self, requests: Iterable[Request]) -> None:
        """Hear of requests that are not as they were."""
        for request in requests:
            if _sample(request) in self._held:
                self._held[_sample(request)] = request

    def ended(self, requests: Iterable[Request]) -> None:
        """Hear of samples whose check has ended."""
        for request in requests:
            self._at_work.discard(_sample(request))
            self._held.pop(_sample(request), None)

    def review(self) -> None:
        """Compare again what is held, because it may be paid for now; from any thread."""
        with self._desk.lock:
            self.reconsider()

    def reconsider(self) -> bool:
        """Compare all that is held, and let the best go to work; whether any did."""
        if not self.is_needed or not self._held or not self._is_affordable():
            return False
        for _ in range(_EASINGS):
            if self._let_go():
                return True
            if self._at_work or not self._held or not self._desk.climb.knowledge.ease():
                return False
        return False

    def _is_affordable(self) -> bool:
        """Whether anything can be paid for at all: where it can't, lower prices buy nothing."""
        knowledge = self._desk.climb.knowledge
        return bool(knowledge.affordable(self._desk.accounts())[1:].any())

    def _let_go(self) -> bool:
        requests = list(self._held.values())
        standings = [self._standing(request) for request in requests]
        revisions = Revisions(self._desk, requests, standings, is_held=False, peers=self._over)
        waiting = {e.place for e in revisions.step.escalate if e.is_deferred}
        going = [e for e in revisions.step.escalate if not e.is_deferred]
        going.sort(key=lambda escalation: -escalation.benefit)
        going = going[: max(0, self._width - len(self._at_work))]
        chosen = {escalation.place for escalation in going}
        asking = {escalation.place for escalation in revisions.step.escalate}
        stopped = [i for i in range(len(requests)) if i not in asking and i not in waiting]
        for index in (*chosen, *stopped):
            del self._held[_sample(requests[index])]
        if chosen or stopped:
            made = revisions.write([*chosen, *stopped])
            self.note(made, set())
            self._drop([requests[index] for index in stopped])
        return bool(chosen)

    def _drop(self, requests: list[Request]) -> None:
        """Cancel held checks that nobody asks for any more."""
        if requests:
            keys = list({request.check_key for request in requests})
            self._desk.ledger.cancel(keys, now=0.0)

    def _standing(self, request: Request) -> Standing:
        standing = self._desk.intake.recall(
            candidate_of(request.state["candidate"]), request.content_key,
            request.state.get("given"),
        )  # fmt: skip
        standing.expected = standing.expected or request.state.get("expected", {})
        return standing


def _sample(request: Request) -> SampleId:
    return SampleId(request.run, request.step, request.position)
