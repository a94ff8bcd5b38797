"""Intake: from what the learner wrote to standings with the first tier's verdicts.

Only what is new costs anything: a candidate seen before by this process is one dictionary
look-up, one known to the ledger is one row of a query, and only the rest is canonicalised and
verified, in batches that stay with the worker that parsed them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain, repeat
from threading import RLock
from typing import Any

from verifier_ladder.candidate import Candidate, checked_candidate, checked_candidates
from verifier_ladder.case import is_late, late, settlement_field
from verifier_ladder.keys import (
    NO_TASK,
    canonical_json,
    check_key,
    check_keys,
    content_key,
    task_digest,
)
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.memory import (
    BATCHES,
    LONGEST_CHARACTER,
    PIECE,
    cuts,
    longest,
    share,
    weigh,
    why_too_long,
    written,
)
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.asking import Asking
from verifier_ladder.scheduler.candidatecache import CandidateCache
from verifier_ladder.scheduler.candidates import turns_digest, turns_json
from verifier_ladder.scheduler.canonical import Canonicals, Content, Forms
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.pipeline import drive
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.uncollected import uncollected
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_CHUNK = 512
_OF_OBJECTS = 1 / 8
"""Part of a trajectory's objects that counts: about what short turns take while written."""
_LATE = "not reached within the deadline"
Given = Candidate | Content
Job = Generator[Future[Any], Any, None]


def memo_keys(given: Sequence[Given]) -> list[Hashable]:
    """What tells candidates of one kind apart, as dictionary keys."""
    if {str}.issuperset(map(type, given)):
        return list(given)
    digests = _task_digests(given)
    return [
        one if not isinstance(one, Candidate)
        else one.content if not one.task and not one.turns
        else (one.content, digests[id(one.task)], turns_digest(one.turns))
        for one in given
    ]  # fmt: skip


def _task_digests(given: Sequence[Given]) -> dict[int, bytes]:
    """Digests of their tasks by the id of each, for those of a batch are often one object."""
    tasks = {id(one.task): one.task for one in given if isinstance(one, Candidate)}
    return {name: task_digest(task or {}) for name, task in tasks.items()}


def _whole_size(given: Given) -> int:
    """Bytes of a completion as it is written; of a trajectory, what takes most.

    That is its JSON, or its texts, which count as a content does, or a part of its objects: of
    very short turns these take many times their JSON.
    """
    content, turns = (given.content, given.turns) if isinstance(given, Candidate) else (given, ())
    size = weigh(content, written)
    if not turns:
        return size
    texts = weigh(turns, written) - weigh(turns, lambda _: 0)
    objects = int(weigh(turns) * _OF_OBJECTS)
    return size + max(len(canonical_json(turns_json(turns))), texts, objects)


def _with_tasks(sizes: Sequence[int], givens: Sequence[Given]) -> Sequence[int]:
    """Sizes with what tasks take, which travel to workers; one that several share counts once."""
    tasks = {
        id(one.task): (place, one.task)
        for place, one in enumerate(givens) if isinstance(one, Candidate) and one.task
    }  # fmt: skip
    if not tasks:
        return sizes
    made = list(sizes)
    for place, task in tasks.values():
        made[place] += weigh(task)
    return made


class Intake:
    """Keeps the standings of one campaign's candidates in memory, and fills in missing ones."""

    def __init__(self, ladder: Ladder, ledger: Ledger, engine: LocalEngine, lock: RLock) -> None:
        """Serve one campaign; `lock` guards its standings."""
        self._ladder, self._ledger, self._engine, self._lock = ladder, ledger, engine, lock
        self._canonicals = Canonicals(ladder, ledger, engine)
        self.asking = Asking(ladder, engine, lock)
        self.cache = CandidateCache(lock)
        self._piece, self._longest = share(PIECE), longest()
        self.is_named = self._canonicals.is_named
        self._settling = [each for each in ladder.askings if settlement_field(each[0])]

    def standings(
        self,
        candidates: Sequence[Given],
        until: float | None,
        arrivals: Arrivals,
    ) -> list[Standing]:
        """Bring candidates in; the result holds one standing each, in order.

        Args:
            candidates: Content alone stands for a candidate of the ladder's kind without a task.
            until: Monotonic time at which to stop waiting; what is not known by then is missing
                from the standings.
            arrivals: Where to note what the ledger does not hold yet; the caller closes it.
        """
        keys = memo_keys(candidates)
        held = self.cache.given(keys)
        if held.count(None) == len(held):
            found = self._bring(dict(zip(keys, candidates, strict=True)), until, arrivals)
            return list(map(found.__getitem__, keys))
        new = {
            key: given for key, given, known in zip(keys, candidates, held, strict=True)
            if known is None or known.lapsed
        }  # fmt: skip
        if not new:
            return held  # type: ignore[return-value]
        found = self._bring(new, until, arrivals)
        return [found.get(key) or known for key, known in zip(keys, held, strict=True)]  # type: ignore[misc]

    def _bring(
        self,
        new: Mapping[Hashable, Given],
        until: float | None,
        arrivals: Arrivals,
    ) -> dict[Hashable, Standing]:
        found, keys, givens, sizes = self._sized(new)
        jobs = (
            self._job(keys[part], givens[part], sum(sizes[part]), arrivals, found)
            for part in self._parts(sizes, givens)
        )
        if not drive(jobs, until, window=self._window):
            for key, given in new.items():
                if key not in found:
                    found[key] = self._unasked(given, _LATE)
        elif arrivals.uncompared:
            again = self.asking.ask_again(list(found.values()), arrivals)
            drive([again], until, window=1)
        return found

    def recognise(self, candidates: Sequence[Candidate]) -> tuple[list[Standing], Arrivals]:
        """Bring candidates in without asking any verifier; one standing each, in order."""
        keys = memo_keys(candidates)
        new: dict[Hashable, Given] = dict(zip(keys, candidates, strict=True))
        arrivals = Arrivals()
        found, names, givens, sizes = self._sized(new)

        def job(part: slice) -> Job:
            standings, _ = yield from self._enter(givens[part], arrivals)
            found.update(zip(names[part], standings, strict=True))

        drive(map(job, self._parts(sizes, givens)), None, window=self._window)
        return [found[key] for key in keys], arrivals

    def recall(self, candidate: Candidate, key: bytes, given: str | bytes | None) -> Standing:
        """The standing of a canonical candidate, from memory or made anew with what is known.

        Args:
            candidate: In canonical form.
            key: Its content key.
            given: One spelling of it; None for the canonical one.
        """
        made = Standing(candidate, key, candidate.content if given is None else given)
        (standing,) = self.cache.find([made.subject])
        if standing is None:
            self._look_up([made])
            self._look_back(made)
            standing = self.cache.add({made.subject: made})[made.subject]
        return standing

    def forget_failures(self, standings: Iterable[Standing]) -> None:
        """Drop abstentions of a failed boundary: an outage is not an answer."""
        with self._lock:
            for standing in standings:
                if standing.survey is not None and standing.survey.failed is not None:
                    standing.forget_failures()

    def forget(self, standings: Iterable[Standing]) -> None:
        """Read candidates anew from the ledger when they come again."""
        self.cache.drop(standings)

    @property
    def _window(self) -> int:
        """Parts under way: each worker is at one and has one waiting while two are taken in."""
        return 2 * self._engine.workers + 2

    def _sizes(self, givens: Collection[Given]) -> list[int]:
        """Bytes of completions; of short ones it does not matter what a character takes."""
        contents = [g.content if isinstance(g, Candidate) else g for g in givens]
        turns = [g.turns if isinstance(g, Candidate) else () for g in givens]
        lengths = list(map(len, contents))
        little = min(self._piece // self._engine.workers, self._longest)
        is_little = sum(lengths) * LONGEST_CHARACTER <= little
        sizes = lengths if is_little else [weigh(content, written) for content in contents]
        if not any(turns):
            return sizes
        return [size + weigh(each, written) for size, each in zip(sizes, turns, strict=True)]

    def _sized(
        self, new: Mapping[Hashable, Given]
    ) -> tuple[dict[Hashable, Standing], list[Hashable], list[Given], list[int]]:
        """Say of those that there is no room for, as they are written, that they are too long.

        Returns:
            Their standings; keys, candidates and sizes of the others.
        """
        givens = list(new.values())
        sizes, refused = self._sizes(givens), dict[Hashable, Standing]()
        if max(sizes, default=0) <= self._longest:
            return refused, list(new), givens, sizes
        left = []
        for key, given, size in zip(new, givens, sizes, strict=True):
            if size > self._longest and (whole := _whole_size(given)) > self._longest:
                why = why_too_long(whole)
                refused[key] = self._unasked(given, why, failed_at="memory")
            else:
                left.append((key, given, size))
        keys, givens, sizes = map(list, zip(*left, strict=True)) if left else ([], [], [])
        return refused, keys, givens, sizes

    def _parts(self, sizes: Sequence[int], givens: Sequence[Given]) -> Iterator[slice]:
        """Cut into what one worker is given at once; in this process only long text is cut."""
        if self._ladder.canonicaliser.inline and self.asking.is_inline:
            return cuts(sizes, self._piece)
        workers = self._engine.workers
        sizes = _with_tasks(sizes, givens)
        count = max(1, min(_CHUNK, -(-len(sizes) // workers)))
        return cuts(sizes, min(self._piece, share(BATCHES) // workers), count)

    def _job(
        self,
        keys: list[Hashable],
        givens: list[Given],
        size: int,
        arrivals: Arrivals,
        found: dict[Hashable, Standing],
    ) -> Job:
        """Take one part from raw text to the first tier's verdicts."""
        standings, forms = yield from self._enter(givens, arrivals)
        mine = dict(zip(keys, standings, strict=True))
        found.update(mine)
        yield from self.asking.ask_all(standings, forms.lane, arrivals)
        if forms.problems:
            mine = {key: standing for key, standing in mine.items() if not _is_unusable(standing)}
        self.cache.name(mine)
        arrivals.came(size)

    def _enter(
        self, givens: list[Given], arrivals: Arrivals
    ) -> Generator[Future[Any], Any, tuple[list[Standing], Forms]]:
        """Take one part from raw text to standings with what the ledger knows."""
        contents = [g.content if isinstance(g, Candidate) else g for g in givens]
        forms = yield from self._canonicals.forms(contents, arrivals)
        with uncollected:
            made = self._begun(givens, contents, forms)
            standings = self._publish(made, has_problems=bool(forms.problems))
            self._refuse_late(standings, arrivals)
        if self._canonicals.is_identity:
            # A candidate with a verdict is known; only now it shows which ones are not.
            new = [place for place, standing in enumerate(standings) if not standing.verdicts]
            self._canonicals.note(forms, contents, new, arrivals)
        return standings, forms

    def _refuse_late(self, standings: Sequence[Standing], arrivals: Arrivals) -> None:
        """Say of samples that came too late for a verifier that they did; nobody is asked."""
        for verifier, number in self._settling:
            name, place = verifier.name, self._ladder.askings.index((verifier, number))
            for standing in standings:
                if standing.problem is not None or name in standing.verdicts:
                    continue
                task = standing.candidate.task
                if task is None or not is_late(verifier, task):
                    continue
                with self._lock:
                    standing.hear(verifier, number, said := late(verifier, task))
                arrivals.verdicts.extend(
                    [standing.keys[place]], [standing.content_key], [name], [verifier.version],
                    [int(verifier.tier)], [said], [1],
                )  # fmt: skip

    def _begun(self, givens: list[Given], contents: list[Content], forms: Forms) -> list[Standing]:
        """Standings without verdicts."""
        kind, problems = self._ladder.kind, forms.problems
        changed: list[int] = []
        if forms.contents != givens:
            pairs = enumerate(zip(givens, forms.contents, strict=True))
            changed = [place for place, (given, form) in pairs if form is not given]
        candidates: list[Candidate | str] = [kind] * len(givens)
        for place, candidate in zip(changed, self._whole(givens, forms, changed), strict=True):
            candidates[place] = candidate
        why = map(problems.get, range(len(givens))) if problems else repeat(None)
        tasks: Iterable[bytes] = repeat(NO_TASK)
        if changed:
            digests = _task_digests(givens)
            tasks = [digests.get(id(getattr(one, "task", None)), NO_TASK) for one in givens]
        return list(map(Standing, candidates, forms.keys, contents, why, tasks))

    def _publish(self, made: list[Standing], *, has_problems: bool) -> list[Standing]:
        """Share standings with other callers, once they hold all that the ledger knows."""
        names = [standing.subject for standing in made]
        held = self.cache.find(names)
        are_all_new = held.count(None) == len(held)
        fresh = dict(zip(names, made, strict=True))
        if not are_all_new:
            known = {name for name, one in zip(names, held, strict=True) if one is not None}
            fresh = {name: one for name, one in fresh.items() if name not in known}
        self._look_up(list(fresh.values()))
        kept = fresh
        if has_problems:
            kept = {name: one for name, one in fresh.items() if not _is_unusable(one)}
        fresh |= self.cache.add(kept)
        if are_all_new:
            return list(map(fresh.__getitem__, names))
        return [one or fresh[name] for name, one in zip(names, held, strict=True)]

    def _look_up(self, standings: Sequence[Standing]) -> None:
        """Take over every verdict that the ledger already holds; one query."""
        askings = self._ladder.askings
        clean = [standing for standing in standings if standing.problem is None]
        if not clean:
            return
        columns = [self._check_keys(clean, *asking) for asking in askings]
        for standing, keys in zip(clean, zip(*columns, strict=True), strict=True):
            standing.keys = keys
        known = self._ledger.verdicts(list(chain.from_iterable(columns)))
        if not known:
            return
        for (verifier, number), column in zip(askings, columns, strict=True):
            name, is_plain = verifier.name, verifier.replicates == 1
            for standing, verdict in zip(clean, map(known.get, column), strict=True):
                if verdict is not None and is_plain:
                    standing.verdicts[name] = verdict
                elif verdict is not None:
                    standing.hear(verifier, number, verdict)

    def _look_back(self, standing: Standing) -> None:
        """Take over what a verifier said as the campaign had it before: samples climb by it."""
        for place, (verifier, number) in enumerate(self._ladder.askings):
            if not verifier.earlier or verifier.name in standing.verdicts or not standing.keys:
                continue
            named = standing.named_for(verifier)
            keys = [check_key(digest, *named, number) for digest in verifier.earlier]
            known = self._ledger.verdicts(keys)
            if (key := next(filter(known.__contains__, keys), None)) is not None:
                standing.keys = (*standing.keys[:place], key, *standing.keys[place + 1 :])
                standing.hear(verifier, number, known[key])

    @staticmethod
    def _check_keys(standings: list[Standing], verifier: Verifier, number: int) -> list[bytes]:
        reads_more = verifier.reads_turns or verifier.task_fields != ()
        if verifier.reads == "raw" or reads_more:
            named = [standing.named_for(verifier) for standing in standings]
            of_content, tasks, turns = zip(*named, strict=True)
            return check_keys(verifier.key_digest, of_content, number, tasks=tasks, turns=turns)
        contents = [standing.content_key for standing in standings]
        return check_keys(verifier.key_digest, contents, number)

    def _unasked(self, given: Given, why: str, failed_at: str = "engine") -> Standing:
        """One that no verifier was asked about, for a reason that may pass."""
        content = given.content if isinstance(given, Candidate) else given
        problem = Verdict.abstain(why, failed_at=failed_at)
        kind = self._ladder.kind
        whole = given if isinstance(given, Candidate) else checked_candidate(kind, content)
        return Standing(whole, content_key(kind, content), content, problem)

    def _whole(self, givens: list[Given], forms: Forms, places: Sequence[int]) -> list[Candidate]:
        """What was given in canonical form, with its task and turns."""
        kind, contents = self._ladder.kind, [forms.contents[place] for place in places]
        wholes = [
            given if isinstance(given, Candidate) else None
            for given in map(givens.__getitem__, places)
        ]
        tasks = [None if whole is None else whole.task for whole in wholes]
        turns = [() if whole is None else whole.turns for whole in wholes]
        return checked_candidates(kind, contents, tasks, turns)


def _is_unusable(standing: Standing) -> bool:
    """Whether it could not even be canonicalised, for a reason that may pass."""
    return standing.problem is not None and standing.problem.failed_at is not None
