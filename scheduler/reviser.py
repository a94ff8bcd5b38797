"""The climb path: finished checks become decisions, further checks, and reward revisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from verifier_ladder.ledger.records import (
    Block,
    CheckRow,
    CheckState,
    DecisionColumns,
    Request,
    SampleColumns,
)
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.candidates import candidate_json, candidate_of
from verifier_ladder.scheduler.climb import Step
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.scorer import (
    Enqueue,
    Scorer,
    awaited,
    check_of,
    join,
)
from verifier_ladder.scheduler.standing import Standing, task_keys
from verifier_ladder.verdict import Verdict


class Reviser:
    """Takes the samples of one campaign further whenever a check they wait for has ended.

    A crash between a check's completion and its revision loses nothing: the request is still
    there, and `advance` finds it the next time the campaign is opened.
    """

    def __init__(self, desk: Desk, scorer: Scorer) -> None:
        """Work at a campaign's desk."""
        self._desk, self._scorer = desk, scorer
        self._has_learnt = False

    def advance(self, ended: Mapping[bytes, Verdict] | None = None) -> int:
        """Revise every sample whose check has ended; count them.

        Args:
            ended: Verdicts of checks that ended just now. Those that ended before, while no
                process was there to notice, are read from the ledger.
        """
        keys = None if ended is None else list(ended)
        requests = self._desk.ledger.requests(
            campaign=self._desk.campaign, check_keys=keys, final=True
        )
        steps: dict[tuple[str, int], list[Request]] = defaultdict(list)
        for request in requests:
            steps[request.run, request.step].append(request)
        verdicts = dict(ended or {}) or self._ended(requests)
        for (run, step), chosen in steps.items():
            self._revise(run, step, chosen, verdicts)
        return len(requests)

    def _ended(self, requests: Sequence[Request]) -> dict[bytes, Verdict]:
        keys = list({request.check_key for request in requests})
        known = self._desk.ledger.verdicts(keys)
        for check in self._desk.ledger.checks(keys=[key for key in keys if key not in known]):
            known[check.check_key] = _why_ended(check)
        return known

    def _revise(
        self, run: str, step: int, requests: list[Request], verdicts: Mapping[bytes, Verdict]
    ) -> None:
        with self._desk.lock:
            standings = [self._standing(request, verdicts) for request in requests]
            result = self._desk.climb.step(
                standings, run=run, step=step,
                positions=[r.position for r in requests], affordable=self._scorer.affordable(),
                weights=[float(r.state["weight"]) for r in requests],
                groups=[str(r.state["group"]) for r in requests],
            )  # fmt: skip
            rewards = [
                reward._replace(revision=int(request.state["revision"]) + 1)
                for reward, request in zip(result.rewards, requests, strict=True)
            ]
            enqueue = self._enqueue(requests, standings, result, rewards)
            self._write_beliefs()
            block = self._block(requests, standings, result.decisions, rewards)
            self._desk.ledger.append(block, enqueue=enqueue, answered=requests)
            self._desk.intake.forget_failures(standings)
        for request, reward in zip(requests, rewards, strict=True):
            self._desk.watches.revise((run, step, request.position), reward)

    def _standing(self, request: Request, verdicts: Mapping[bytes, Verdict]) -> Standing:
        candidate = candidate_of(request.state["candidate"])
        standing = self._desk.intake.recall(
            candidate, request.content_key, request.state.get("given")
        )
        position = standing.keys.index(request.check_key)
        verifier = self._desk.ladder.verifiers[position]
        verdict = verdicts.get(request.check_key)
        if verdict is not None:
            is_news = verifier.name not in standing.verdicts
            standing.learn(verifier.name, verdict)
            if is_news and verifier is self._desk.ladder.rungs[-1].primary:
                self._desk.climb.learn(standing)
                self._has_learnt = True
        return standing

    def _enqueue(
        self,
        requests: list[Request],
        standings: list[Standing],
        result: Step,
        rewards: list[Reward],
    ) -> Enqueue:
        asked: dict[bytes, tuple[CheckRow, list[Request]]] = {}
        for index, column, benefit in result.escalate:
            request, standing = requests[index], standings[index]
            rewards[index] = awaited(rewards[index])
            state = {
                **request.state, "candidate": candidate_json(standing.candidate),
                "value": rewards[index].value, "revision": rewards[index].revision,
            }  # fmt: skip
            check = check_of(self._desk.campaign, self._desk.ladder, standing, column, benefit)
            join(asked, check, request._replace(check_key=check.check_key, state=state))
        return list(asked.values())

    def _write_beliefs(self) -> None:
        """Write down what the beliefs have learnt, if anything."""
        if self._has_learnt:
            learnt = {"belief": self._desk.climb.model.snapshot()}
            self._desk.ledger.append(Block("belief", self._desk.campaign, facts=learnt))
            self._has_learnt = False

    def _block(
        self,
        requests: list[Request],
        standings: list[Standing],
        decisions: list[DecisionColumns],
        rewards: list[Reward],
    ) -> Block:
        """The revisions of samples that all belong to one run and step."""
        samples = SampleColumns(
            requests[0].run, requests[0].step, [r.position for r in requests],
            [s.content_key for s in standings], [s.used for s in standings],
            [str(r.state["group"]) for r in requests], None,
            [str(r.state["learner_version"]) for r in requests],
            [float(r.state["weight"]) for r in requests], task_keys(standings),
        )  # fmt: skip
        facts = {"previous": [request.state["value"] for request in requests]}
        return Block(
            "revision", self._desk.campaign, samples=samples, decisions=decisions,
            rewards=rewards, facts=facts,
        )  # fmt: skip


def _why_ended(check: CheckRow) -> Verdict:
    """What a check without a verdict amounts to."""
    if check.state is CheckState.EXPIRED:
        return Verdict.abstain("the world did not answer in time", failed_at="tool")
    if check.state is CheckState.CANCELLED:
        return Verdict.abstain("the check was cancelled", failed_at="lease")
    return Verdict.abstain(check.note or "every attempt failed", failed_at="engine")
