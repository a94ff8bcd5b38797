"""Intake: from what the learner wrote to standings with the first tier's verdicts.

Only what is new costs anything: a candidate seen before by this process is one dictionary
look-up, one known to the ledger is one row of a query, and only the rest is canonicalised and
verified, in batches that stay with the worker that parsed them.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import RLock
from time import process_time
from typing import Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.keys import content_key, digest, raw_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import CandidateRow, VerdictRow
from verifier_ladder.scheduler.candidates import as_seen, turns_json
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.flights import Flights
from verifier_ladder.scheduler.pipeline import drive
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, failure

_MEMO_LIMIT = 200_000
_CHUNK = 512
Job = Generator[Future[Any], Any, None]


@dataclass(slots=True)
class Arrivals:
    """What one call brought in that the ledger does not hold yet."""

    candidates: list[CandidateRow] = field(default_factory=list)
    verdicts: list[VerdictRow] = field(default_factory=list)
    seconds: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Cpu-seconds and number of checks per tier."""

    def spend(self, tier: int, seconds: float, checks: int) -> None:
        """Add what some checks took."""
        had = self.seconds.get(tier, (0.0, 0))
        self.seconds[tier] = (had[0] + seconds, had[1] + checks)


def memo_key(candidate: Candidate) -> Hashable:
    """What tells two candidates of one kind apart, as a dictionary key."""
    if not candidate.task and not candidate.turns:
        return candidate.content
    turns = digest(turns_json(candidate.turns))
    return (candidate.content, digest(dict(candidate.task or {})), turns)


class Intake:
    """Keeps the standings of one campaign's candidates in memory, and fills in missing ones."""

    def __init__(self, ladder: Ladder, ledger: Ledger, engine: LocalEngine, lock: RLock) -> None:
        """Serve one campaign; `lock` guards its standings."""
        self._ladder, self._ledger, self._engine, self._lock = ladder, ledger, engine, lock
        self._memo: dict[Hashable, Standing] = {}
        self._subjects: dict[Hashable, Standing] = {}
        self._first = ladder.rungs[0].verifiers if ladder.tiers[0] is Tier.FAST else ()
        self._flights: Flights = engine.flights

    def standings(
        self, candidates: Sequence[Candidate | str | bytes], until: float | None
    ) -> tuple[list[Standing], Arrivals]:
        """Bring candidates in; the result holds one standing each, in order.

        Args:
            candidates: Content alone stands for a candidate of the ladder's kind without a task.
            until: Monotonic time at which to stop waiting; what is not known by then is missing
                from the standings.
        """
        keys = [memo_key(c) if isinstance(c, Candidate) else c for c in candidates]
        arrivals = Arrivals()
        memo = self._memo
        new = {
            key: c for key, c in zip(keys, candidates, strict=True)
            if (known := memo.get(key)) is None or known.lapsed
        }  # fmt: skip
        found: dict[Hashable, Standing] = {}
        if new:
            self._trim(len(new))
            items = [(key, self._candidate(c)) for key, c in new.items()]
            jobs = (self._job(chunk, arrivals, found) for chunk in self._chunks(items))
            drive(jobs, until, window=2 * self._engine.workers)
            for key, candidate in items:
                if key not in found:
                    found[key] = _late(candidate)
        return [found.get(key) or memo[key] for key in keys], arrivals

    def remember(self, standing: Standing) -> None:
        """Keep a standing that was rebuilt from the ledger."""
        self._subjects[_subject(standing)] = standing

    def recall(self, candidate: Candidate, key: bytes) -> Standing:
        """The standing of a canonical candidate, from memory or made anew with what is known."""
        made = Standing(candidate, raw_key(candidate.kind, candidate.content), key)
        standing = self._subjects.get(_subject(made))
        if standing is None:
            standing = made
            self._look_up([standing])
            self.remember(standing)
        return standing

    def _candidate(self, given: Candidate | str | bytes) -> Candidate:
        return given if isinstance(given, Candidate) else Candidate(self._ladder.kind, given)

    def _trim(self, coming: int) -> None:
        """Forget everything once too much is kept: the ledger still knows it."""
        with self._lock:
            if len(self._memo) + coming > _MEMO_LIMIT:
                self._memo.clear()
                self._subjects.clear()

    def _chunks(self, items: list[Any]) -> Iterable[list[Any]]:
        isolated = not self._ladder.canonicaliser.inline or any(
            v.isolation != "inline" for v in self._first
        )
        size = _CHUNK if isolated else max(len(items), 1)
        size = max(1, min(size, -(-len(items) // self._engine.workers))) if isolated else size
        return (items[i : i + size] for i in range(0, len(items), size))

    def _job(
        self, items: list[tuple[Hashable, Candidate]], arrivals: Arrivals,
        found: dict[Hashable, Standing],
    ) -> Job:
        """Take one chunk from raw text to the first tier's verdicts."""
        raws = [raw_key(c.kind, c.content) for _, c in items]
        forms, lane = yield from self._canonical(items, raws, arrivals)
        made = [
            self._standing(candidate, raw, content, form)
            for (_, candidate), raw, (content, form) in zip(items, raws, forms, strict=True)
        ]
        standings = self._publish(made)
        found.update(zip((key for key, _ in items), standings, strict=True))
        everyone = list({id(standing): standing for standing in standings}.values())
        for verifier in self._first:
            yield from self._ask(verifier, everyone, lane, arrivals)
        with self._lock:
            self._memo.update(
                (key, found[key]) for key, _ in items if not _is_unusable(found[key])
            )

    def _publish(self, made: list[Standing]) -> list[Standing]:
        """Share standings with other callers, once they hold all that the ledger knows."""
        mine = {_subject(standing): standing for standing in reversed(made)}
        with self._lock:
            fresh = [s for name, s in mine.items() if name not in self._subjects]
        self._look_up(fresh)
        with self._lock:
            for name, standing in mine.items():
                if not _is_unusable(standing):
                    mine[name] = self._subjects.setdefault(name, standing)
        return [mine[_subject(standing)] for standing in made]

    def _canonical(
        self, items: list[tuple[Hashable, Candidate]], raws: list[bytes], arrivals: Arrivals
    ) -> Generator[Future[Any], Any, tuple[list[tuple[bytes, Any]], int | None]]:
        """Content key and canonical form (or verdict) of each item."""
        canonicaliser, kind = self._ladder.canonicaliser, self._ladder.kind
        contents = [c.content for _, c in items]
        if canonicaliser.name == "identity":
            keyed: list[tuple[bytes, Any]] = [(content_key(kind, c), c) for c in contents]
            self._arrive(arrivals, raws, contents, keyed, [None] * len(items))
            return keyed, None
        known = self._ledger.aliases(canonicaliser.digest, raws)
        lane, new = None, [i for i, raw in enumerate(raws) if raw not in known]
        fresh: dict[int, Any] = {}
        if new and canonicaliser.inline:
            fresh = {i: self._inline_form(contents[i]) for i in new}
        elif new:
            answer = yield self._engine.fast.canonicalise(canonicaliser, [contents[i] for i in new])
            fresh, lane = dict(zip(new, answer.forms, strict=True)), answer.lane
        out: list[tuple[bytes, Any]] = []
        for i, (raw, content) in enumerate(zip(raws, contents, strict=True)):
            alias = known.get(raw)
            if alias is not None:
                form = alias.verdict or (content if alias.canonical is None else alias.canonical)
                out.append((alias.content_key, form))
            else:
                form = fresh[i]
                basis = content if isinstance(form, Verdict) else form
                out.append((content_key(kind, basis), form))
        self._arrive(
            arrivals, [raws[i] for i in new], [contents[i] for i in new],
            [out[i] for i in new], [f if isinstance(f, Verdict) else None for f in
                                    (fresh[i] for i in new)],
        )  # fmt: skip
        return out, lane

    def _inline_form(self, content: str | bytes) -> str | bytes | Verdict:
        try:
            return self._ladder.canonicaliser.canonicalise(content)
        except CandidateError as error:
            return Verdict.reject(str(error))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            return failure(error)

    def _arrive(
        self, arrivals: Arrivals, raws: list[bytes], contents: list[str | bytes],
        keyed: list[tuple[bytes, Any]], verdicts: Sequence[Verdict | None],
    ) -> None:
        canonicaliser = self._ladder.canonicaliser
        kind, by = self._ladder.kind, canonicaliser.digest
        for raw, content, (key, form), verdict in zip(raws, contents, keyed, verdicts, strict=True):
            if verdict is not None and verdict.failed_at:
                continue
            canonical = None if verdict is not None or form == content else form
            arrivals.candidates.append(
                CandidateRow(raw, key, kind, content, canonical, by, verdict)
            )

    def _standing(self, given: Candidate, raw: bytes, key: bytes, form: Any) -> Standing:
        if isinstance(form, Verdict):
            return Standing(given, raw, key, problem=form)
        if form is not given.content:
            given = Candidate(given.kind, form, given.task, given.turns)
        return Standing(given, raw, key)

    def _look_up(self, standings: Sequence[Standing]) -> None:
        """Take over every verdict that the ledger already holds; one query."""
        verifiers = self._ladder.verifiers
        clean = [s for s in standings if s.problem is None]
        for standing in clean:
            standing.keys = tuple([standing.key_of(v) for v in verifiers])
        if not clean:
            return
        known = self._ledger.verdicts([key for s in clean for key in s.keys])
        if known:
            with self._lock:
                for standing in clean:
                    for verifier, key in zip(verifiers, standing.keys, strict=True):
                        if key in known:
                            standing.learn(verifier.name, known[key])

    def _ask(
        self, verifier: Verifier, standings: list[Standing], lane: int | None, arrivals: Arrivals
    ) -> Job:
        """Ask one verifier of the first tier about everyone it has not judged."""
        position = self._ladder.verifiers.index(verifier)
        todo = {
            s.keys[position]: s for s in standings
            if s.problem is None and verifier.name not in s.verdicts
            and not self._is_stopped(s)
        }  # fmt: skip
        flight, theirs = self._flights.board(list(todo))
        try:
            mine = [(key, todo[key]) for key in flight.keys]
            for start in range(0, len(mine), verifier.batch_size):
                part = mine[start : start + verifier.batch_size]
                yield from self._judge(verifier, part, lane, arrivals, flight.verdicts)
        finally:
            flight.land()
        for other in theirs:
            yield other.future
            with self._lock:
                for key in todo.keys() & other.verdicts.keys():
                    todo[key].learn(verifier.name, other.verdicts[key])

    def _is_stopped(self, standing: Standing) -> bool:
        """Whether a gate of the first tier has not let it pass, or the primary has rejected it."""
        verdicts = standing.verdicts
        if not verdicts:
            return False
        gates = self._ladder.rungs[0].gates
        blocked = any(
            gate.name in verdicts and verdicts[gate.name].outcome is not Outcome.ACCEPT
            for gate in gates
        )
        return blocked or standing.is_rejected

    def _judge(
        self, verifier: Verifier, part: list[tuple[bytes, Standing]], lane: int | None,
        arrivals: Arrivals, landed: dict[bytes, Verdict],
    ) -> Job:
        candidates = [as_seen(standing.candidate, verifier) for _, standing in part]
        if verifier.isolation == "inline":
            verdicts, seconds = judge_inline(verifier, candidates)
        else:
            answer = yield self._engine.ask_now(verifier, candidates, lane)
            verdicts = answer.verdicts
            seconds = sum(v.cost.seconds for v in verdicts if v.cost)
        tier = int(verifier.tier)
        arrivals.spend(tier, seconds, len(part))
        rows = arrivals.verdicts
        with self._lock:
            for (key, standing), verdict in zip(part, verdicts, strict=True):
                standing.learn(verifier.name, verdict)
                landed[key] = verdict
                rows.append(
                    VerdictRow(
                        key, standing.content_key, verifier.name, verifier.version, tier, verdict
                    )
                )

    def forget_failures(self, standings: Iterable[Standing]) -> None:
        """Drop abstentions of a failed boundary: an outage is not an answer."""
        with self._lock:
            for standing in standings:
                if standing.survey is not None and standing.survey.failed is not None:
                    standing.forget_failures()


def judge_inline(
    verifier: Verifier, candidates: Sequence[Candidate]
) -> tuple[list[Verdict], float]:
    """Run a trusted verifier in this process; verdicts and the cpu-seconds they took together.

    A batch that raises is judged one by one, so the error costs only its own candidate.
    """
    started = process_time()
    if not verifier.__dict__.get("_is_set_up"):
        try:
            verifier.setup()
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            return [failure(error)] * len(candidates), process_time() - started
        verifier.__dict__["_is_set_up"] = True
    try:
        verdicts = verifier.judge(candidates)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        verdicts = (
            [failure(error)] if len(candidates) == 1
            else [judge_inline(verifier, [one])[0][0] for one in candidates]
        )  # fmt: skip
    return verdicts, process_time() - started


def _subject(standing: Standing) -> Hashable:
    candidate = standing.candidate
    if not candidate.task and not candidate.turns:
        return standing.content_key
    return (standing.content_key, memo_key(candidate))


def _is_unusable(standing: Standing) -> bool:
    """Whether it could not even be canonicalised, for a reason that may pass."""
    return standing.problem is not None and standing.problem.failed_at is not None


def _late(candidate: Candidate) -> Standing:
    raw = raw_key(candidate.kind, candidate.content)
    problem = Verdict.abstain("not reached within the deadline", failed_at="engine")
    return Standing(candidate, raw, content_key(candidate.kind, candidate.content), problem)


__all__ = ["Arrivals", "Cost", "Intake", "judge_inline", "memo_key"]
