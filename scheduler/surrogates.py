"""Surrogates: a campaign trains one on what its top tier has said, and lets it speak or not.

All of it happens in a thread and in worker processes of its own. What came of it is an entry, so
that a campaign that is opened again goes on with the same version.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import ceil, isnan, nan, sqrt
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from verifier_ladder.arrays import Floats, NDArray
from verifier_ladder.artifact import Artifact
from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import ContainedLog, text_of
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LedgerError, ToolError
from verifier_ladder.keys import check_key, content_key, digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, Charged, VerdictRow
from verifier_ladder.scheduler.arrivals import cost_of
from verifier_ladder.scheduler.beliefs import create_model
from verifier_ladder.scheduler.candidates import shown_candidate
from verifier_ladder.scheduler.engines.pool import PoolClosed, WorkerPool
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.surrogate import (
    DATA,
    NAMED,
    TRAINED,
    WEIGHTS,
    Description,
    Model,
    Surrogate,
    Training,
    trained_bytes,
    training_data,
)
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LOG = ContainedLog("verifier_ladder")
T = TypeVar("T")
KIND: Final = "surrogate"
"""Kind of the entries."""
LOOKS: Final = sqrt(2.0)
"""By what factor labels grow between two reviews; every second one trains, too."""
_PAIRS: Final = 16.0
"""The least number of labels, as alike draws would count, that a version is judged by."""
_SURE: Final = 2.6
"""By how many standard errors a version must beat the null to speak."""
_FAR: Final = 9.0
"""A squared error counts for no more than so many variances of the labels."""
_HEAVIEST: Final = 20.0
"""One drawn label speaks for no more candidates than that."""
_RECENT: Final = 256
"""Only the latest labels count, for a policy moves on to other candidates."""
_KEPT: Final = 8192
"""Labels that versions are trained on and reviewed by: the latest, and as many lessons. More
change little, and take memory."""
_AT_ONCE: Final = 256
"""Candidates that are described, and verdicts that are read, together: what a worker may answer
is limited, and whoever closes the campaign waits for them."""
_NICE: Final = 10
_MEMORY: Final = 4 << 30


class Review(NamedTuple):
    """How a version has done on labels that were drawn at random and that it never saw."""

    pairs: float
    """How many labels, as so many alike draws would count."""
    gain: float
    """Share of the labels' variance by which its mean squared error is below the null's."""
    error: float
    """Standard error of that."""

    @property
    def is_ahead(self) -> bool:
        """Whether it beats the null on average, so that it may go on speaking."""
        return self.pairs >= _PAIRS and self.gain > 0.0

    @property
    def is_sure(self) -> bool:
        """Whether it beats the null beyond doubt, so that it may begin to speak."""
        return self.is_ahead and self.gain > _SURE * self.error


@dataclass(slots=True)
class Label:
    """What the top tier says of a candidate."""

    content: bytes
    """Content key."""
    judged: bytes
    """Its `Knowledge.judgement_key`."""
    value: float


@dataclass(slots=True)
class History:
    """What a campaign's entries hold of labels, read once each.

    A label is what the top tier says now of a candidate that a training sample has brought. What
    evaluations or shadows alone have asked about is none, and what was superseded counts no more.
    """

    campaign: str
    ladder: Ladder
    ledger: Ledger
    is_over: bool = False
    """Whether nobody wants to know any more."""
    _lessons: deque[Lessons] = field(default_factory=deque)
    _rows: int = 0
    """Of all these lessons."""
    _keys: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    """Check keys of the top tier, by content key, in the order in which they were used first."""
    _evaluations: dict[str, bool] = field(default_factory=dict)
    """Whether a run is one, by its name."""
    _read: int = 0

    def go_on(self) -> None:
        """Go on only while somebody wants to know.

        Raises:
            PoolClosed: If nobody does.
        """
        if self.is_over:
            raise PoolClosed

    def __iter__(self) -> Iterator[Lessons]:
        """The latest lessons, in the order in which they were learnt."""
        for lessons in self._lessons:
            self.go_on()
            yield lessons

    def read_on(self) -> None:
        """Read what is new.

        Raises:
            PoolClosed: If nobody wants to know any more; the next call reads the rest.
        """
        for entry in self.ledger.entries(after=self._read, campaign=self.campaign):
            self.go_on()
            try:
                block = self.ledger.read(entry)
            except LedgerError:  # It is no label; `vladder ledger verify` names it.
                block = Block(entry.kind, entry.campaign)
            self._take(block)
            self._read = entry.id

    def _take(self, block: Block) -> None:
        if block.kind == "belief" and block.facts:
            self._learn(Lessons.from_json(block.facts["lessons"]))
        samples = block.samples
        if samples is not None and not self._is_evaluation(samples.run):
            for content, checks in zip(samples.contents, samples.checks, strict=True):
                self._note(content, checks)

    def _learn(self, lessons: Lessons) -> None:
        """Keep lessons, and let go of the oldest once there are enough without them."""
        if len(lessons):
            self._lessons.append(lessons)
            self._rows += len(lessons)
        while self._lessons and self._rows - len(self._lessons[0]) >= _KEPT:
            self._rows -= len(self._lessons.popleft())

    def _is_evaluation(self, run: str) -> bool:
        """Whether a run is one; it was recorded before its first sample."""
        if run not in self._evaluations:
            self._evaluations = {run: False} | {
                str(each["name"]): bool(each.get("evaluation"))
                for each in self.ledger.runs(self.campaign)
            }
        return self._evaluations[run]

    def _note(self, content: bytes, checks: Sequence[bytes]) -> None:
        if content in self._keys:
            return
        keys = tuple(
            check_key(verifier.key_digest, content, replicate=number)
            for verifier, number in self._top
        )
        if not {*keys}.isdisjoint(checks):
            self._keys[content] = keys

    @property
    def _top(self) -> list[tuple[Verifier, int]]:
        top = self.ladder.rungs[-1].verifiers
        return [asking for asking in self.ladder.askings if asking[0] in top]

    def labels(self) -> list[Label]:
        """The labels as they stand, in the order in which they came.

        Raises:
            PoolClosed: If nobody wants to know any more.
        """
        found = []
        for part in _parts(list(self._keys.items())):
            self.go_on()
            known = self.ledger.verdicts([key for _, keys in part for key in keys])
            for content, keys in part:
                value = self._value(content, [known.get(key) for key in keys])
                if value is not None:
                    judged = keys[0] if len(keys) == 1 else _joined(keys)
                    found.append(Label(content, judged, value))
        return found

    def candidates(self, contents: Collection[bytes]) -> dict[bytes, Candidate]:
        """Candidates of labels in canonical form, by content key; those that can be found.

        The queue has most of them, and is asked first: to look for one in the entries, all that
        the ledger mentions is indexed.
        """
        found = {}
        for check in self.ledger.checks(keys=[self._keys[content][0] for content in contents]):
            candidate = shown_candidate(check, ())
            if candidate is not None:
                found[content_key(candidate.kind, candidate.content)] = candidate
        for content in contents:
            if content not in found:
                self.go_on()
                for key, kind, form in self.ledger.find_contents(content.hex(), 1):
                    found[key] = Candidate(kind, form)
        return {content: found[content] for content in contents if content in found}

    def _value(self, content: bytes, said: Sequence[Verdict | None]) -> float | None:
        standing = Standing(self.ladder.kind, content, "")
        for (verifier, number), verdict in zip(self._top, said, strict=True):
            if verdict is not None:
                standing.hear(verifier, number, verdict)
        survey = Survey(self.ladder, standing)
        return survey.scores[-1] if survey.is_truth else None


def _joined(keys: Sequence[bytes]) -> bytes:
    return sha256(b"".join(keys)).digest()


def _parts(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut into what is done at once."""
    return (rows[begin : begin + _AT_ONCE] for begin in range(0, len(rows), _AT_ONCE))


def review(
    ladder: Ladder, lessons: Iterable[Lessons], scores: Mapping[bytes, tuple[float, float]],
    values: Mapping[bytes, float],
) -> Review:  # fmt: skip
    """Compare what is believed with a version's scores and without any, lesson by lesson.

    Both beliefs are those of the ladder, each predicts before it learns, and only candidates that
    were held out have a score. Draws count by how many candidates each speaks for.

    Args:
        ladder: The campaign's ladder, whose fast tier is the surrogate's.
        lessons: What was learnt, in order; they are gone through several times.
        scores: Score and uncertainty of candidates that were held out, by judgement key.
        values: What the top tier says of them now.
    """
    null, beside = (_predicted(ladder, lessons, each) for each in ({}, scores))
    rows = [
        (values[key], null[key], beside[key], min(1.0 / draw.propensity, _HEAVIEST))
        for key, draw in _drawn(lessons).items()
        if key in scores and not np.isnan([null[key], beside[key]]).any()
    ][-_RECENT:]  # fmt: skip
    if len(rows) < 2:  # noqa: PLR2004 - a variance takes two
        return Review(float(len(rows)), nan, nan)
    truth, without, with_, weights = np.array(rows).T
    spread = truth.var()
    if not spread > 0.0:
        return Review(0.0, nan, nan)
    worse, better = (np.minimum((said - truth) ** 2 / spread, _FAR) for said in (without, with_))
    gains, share = worse - better, weights / weights.sum()
    gain = float(share @ gains)
    error = float(np.sqrt((share**2) @ (gains - gain) ** 2))
    return Review(float(1.0 / (share**2).sum()), gain, error)


def _drawn(lessons: Iterable[Lessons]) -> dict[bytes, Any]:
    """The draw of each candidate that chance has chosen."""
    return {
        key: audit.draw
        for one in lessons
        for key, audit, target in zip(one.keys, one.audits, one.target, strict=True)
        if audit is not None and audit.is_good and audit.draw.propensity > 0.0
        and not np.isnan(target)
    }  # fmt: skip


def _predicted(
    ladder: Ladder, lessons: Iterable[Lessons], scores: Mapping[bytes, tuple[float, float]]
) -> dict[bytes, float]:
    """What was believed of each candidate before its label was learnt."""
    model, found = create_model(ladder), dict[bytes, float]()
    for one in lessons:
        if not len(one):
            continue
        seen = deepcopy(one.seen)
        told = np.array([scores.get(key, (nan, nan)) for key in one.keys])
        seen.scores[:, 0], seen.deviations[:, 0] = told.T
        before = deepcopy(seen)
        before.scores[:, -1] = nan
        said = model.predict(before).mean
        found |= {
            key: mean for key, mean, target in
            zip(one.keys, said.tolist(), one.target.tolist(), strict=True) if not isnan(target)
        }  # fmt: skip
        model.learn(seen, one.target, one.drawn)
    return found


@dataclass(slots=True)
class State:
    """Which versions there are, as the newest entry says."""

    labels: int = 0
    """How many labels there were."""
    trained: int = 0
    """For how many of them a version was trained last."""
    speaks: Mapping[str, Any] | None = None
    shadow: Mapping[str, Any] | None = None

    @property
    def names(self) -> tuple[object, object]:
        """The names of both versions."""
        return (self.speaks or {}).get("name"), (self.shadow or {}).get("name")

    def as_json(self) -> dict[str, Any]:
        """The state as the ledger keeps it."""
        return {
            "labels": self.labels, "trained": self.trained, "speaks": self.speaks,
            "shadow": self.shadow,
        }  # fmt: skip

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> State:
        """Read it back."""
        return cls(facts["labels"], facts["trained"], facts["speaks"], facts["shadow"])


Described = Mapping[bytes, tuple[Floats, str] | None]
"""Numbers and family of candidates, by content key; None of what can't be described."""


def side(
    surrogate: Surrogate, labels: Sequence[Label], described: Described, *, is_held_out: bool
) -> list[tuple[Label, Floats]]:
    """The labels on one side of the split, with their numbers.

    The side follows from the family alone, so it is the same at every training: whatever a version
    is reviewed by, none was ever trained on.
    """
    return [
        (label, told[0]) for label in labels
        if (told := described.get(label.content)) is not None
        and surrogate.is_held_out(told[1]) is is_held_out
    ]  # fmt: skip


def decided(state: State, speaks: Review | None, shadow: Review | None) -> State:
    """Which version is to speak, after both were reviewed.

    Args:
        state: Which one does.
        speaks: How it has done; None if none speaks.
        shadow: How the one in shadow has done; None if there is none.
    """
    made = replace(state)
    if speaks is not None and not speaks.is_ahead:
        made.speaks, made.shadow, speaks = None, state.shadow or state.speaks, None
    is_better = speaks is None or (shadow is not None and shadow.gain >= speaks.gain)
    if shadow is not None and shadow.is_sure and is_better:
        made.speaks, made.shadow = state.shadow, None
    return made


class Surrogates:
    """Trains the surrogate of one campaign, reviews its versions, and says which one speaks.

    At `Surrogate.first` labels, and each time that they have grown by √2, there is a look: the
    version in shadow and the one that speaks are reviewed, then a new version is trained if labels
    have doubled, which is in shadow until the next look. A version begins to speak when it beats
    the null beyond doubt, and steps aside when it no longer beats it on average.

    A look runs in the background and can be killed at any time: what it would have written is
    written at the next one.
    """

    def __init__(self, campaign: str, ladder: Ladder, ledger: Ledger, own: Surrogate) -> None:
        """Do nothing yet; see `of`."""
        self._campaign, self._ladder, self._ledger, self._own = campaign, ladder, ledger, own
        self._history = History(campaign, ladder, ledger)
        self._described: dict[bytes, tuple[Floats, str] | None] = {}
        self._lock = Lock()
        self._thread: Thread | None = None
        self._pool: WorkerPool | None = None
        self._is_closed = False
        self._next = 0
        """From how many judgements on a look may be due."""
        self.is_news = False
        """Whether another version speaks or is in shadow than `in_force` has given."""

    @classmethod
    def of(cls, campaign: str, ladder: Ladder, ledger: Ledger) -> Self | None:
        """Those of a campaign; None if its ladder holds no surrogate.

        Raises:
            ConfigError: If the ladder has no place for it.
        """
        held = [each for each in ladder.verifiers if isinstance(each, Surrogate)]
        if not held:
            return None
        _check_place(ladder, held)
        return cls(campaign, ladder, ledger, held[0])

    @property
    def verifier(self) -> str:
        """Name of the surrogate."""
        return self._own.name

    def in_force(self) -> Ladder:
        """The ladder with the version that speaks by now."""
        self.is_news = False
        entries = list(self._ledger.entries(kind=KIND, campaign=self._campaign))
        states = [State.of(self._ledger.read(entry).facts) for entry in entries]
        had = [self._own, *(self._at(state, only_names=True) for state in states)]
        if not states:
            return self._ladder
        made = self._at(states[-1], earlier=had[::-1])
        return self._ladder.exchanged(self._own, made)

    def _at(
        self, state: State, earlier: Sequence[Surrogate] = (), *, only_names: bool = False
    ) -> Surrogate:
        speaks, shadow = (
            (_named(ref) if only_names else self._model(ref)) if ref else None
            for ref in (state.speaks, state.shadow)
        )
        return self._own.at(speaks, shadow, earlier)

    def _model(self, ref: Mapping[str, Any]) -> Model | None:
        """A version as the ledger keeps it; None, with a warning, where it is not what it was."""
        name, (weights, trained) = str(ref["name"]), map(self._ledger.artifact, _digests(ref))
        try:
            # What was changed or erased is None, and no array.
            made = Model.read(name, weights or b"", trained or b"")
            return replace(made, labels=int(ref["labels"]))
        except (ValueError, OverflowError, EOFError) as error:
            _LOG.warning(
                "campaign %s: version %.12s of its surrogate can't be used: %s. It says nothing "
                "until another one is trained, when labels have doubled", self._campaign, name,
                error,
            )  # fmt: skip
            return None

    # -- when there is something to do -------------------------------------------------------

    def heard(self, judgements: int) -> None:
        """Hear how many judgements of the top tier there are; begin a look if one may be due."""
        if judgements < max(self._next, self._own.first):
            return
        with self._lock:
            if self._is_closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = Thread(
                target=self._look, args=(judgements,), name="vl-surrogate", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Kill what runs, and end."""
        with self._lock:
            self._is_closed = self._history.is_over = True
            pool, thread = self._pool, self._thread
        if pool is not None:
            pool.close()
        if thread is not None:
            thread.join()

    # -- a look, in a thread of its own -------------------------------------------------------

    def _look(self, judgements: int) -> None:
        self._next = judgements + max(1, judgements // 8)
        try:
            with self._lock:
                if self._is_closed:
                    return
                self._pool = WorkerPool(1, nice=_NICE, memory=_MEMORY, name="surrogate")
            with self._pool:
                self._looked(self._pool)
        except PoolClosed:  # The campaign is being closed.
            pass
        except BaseException as error:  # noqa: BLE001 - never the learner's trouble
            _LOG.warning(
                "campaign %s: its surrogate was not looked after (%s); it is tried again when "
                "there are more labels", self._campaign, text_of(error),
            )  # fmt: skip

    def _looked(self, pool: WorkerPool) -> None:
        self._history.read_on()
        labels = self._history.labels()
        last = self._ledger.last(kind=KIND, campaign=self._campaign)
        state = State.of(self._ledger.read(last).facts) if last else State()
        if len(labels) < max(self._own.first, ceil(state.labels * LOOKS)):
            return
        due = self._own.due(len(labels), state.trained)
        training, recent = labels[max(0, due - _KEPT) : due], labels[-_KEPT:]
        self._describe({label.content for label in (*training, *recent)}, pool)
        made = _Made(State(len(labels), state.trained, state.speaks, state.shadow))
        reviews = [self._reviewed(ref, recent, made) for ref in (state.speaks, state.shadow)]
        made.state = decided(made.state, *reviews)
        if due:  # Last: what is trained now is in shadow until the next look.
            self._train(due, training, pool, made)
        self._write(made, was=state, after=last.id if last else 0)

    def _describe(self, wanted: Collection[bytes], pool: WorkerPool) -> None:
        """Describe candidates that were not described before, and forget all others."""
        self._described = {key: told for key, told in self._described.items() if key in wanted}
        by, why = Description(self._own), list[str]()
        for keys in _parts([key for key in wanted if key not in self._described]):
            self._history.go_on()
            found = self._history.candidates(keys)
            said = pool.verify(by, list(found.values())).result().verdicts if found else []
            for key, verdict in zip(found, said, strict=True):
                if verdict.is_answer:
                    self._described[key] = by.read(verdict)
                else:
                    why.append(verdict.reason)
        if why:
            _LOG.warning(
                "campaign %s: %d of the latest labels could not be described for its surrogate "
                "(%s); it is tried again at the next look", self._campaign, len(why), why[-1],
            )  # fmt: skip

    def _train(self, due: int, labels: Sequence[Label], pool: WorkerPool, made: _Made) -> None:
        """Train a version on those labels that are not held out.

        Args:
            due: For how many labels it is.
            labels: The latest of these.
            pool: Where it is trained.
            made: Where the version is put; as it was, with a warning, if there is none.
        """
        rows = side(self._own, labels, self._described, is_held_out=False)
        if len(rows) < 2:  # noqa: PLR2004 - a spread takes two
            return
        by = Training(self._own)
        used = [[label.content.hex(), label.value] for label, _ in rows]
        data = content_key(DATA, digest(used))
        key = check_key(by.key_digest, data)
        known = self._ledger.verdicts([key]).get(key)
        try:
            # A file that was changed or erased is made again.
            if known is None or None in map(self._ledger.artifact, _digests_of(known)):
                known = _trained(by, rows, pool)
                made.rows = [VerdictRow(key, data, by.name, by.version, int(Tier.FAST), known)]
                charged = Charged(int(Tier.FAST), by.name, by.version)
                made.charges = {charged: (cost_of(by, [known]), 1)}
            files = (_data(known, name, self._ledger) for name in _FILES)
            Model.read(key.hex(), *files)  # What can't be read is no version.
        except (ToolError, ValueError) as error:
            _LOG.warning(
                "campaign %s: no version of its surrogate could be trained for %d labels (%s); it "
                "is tried again when there are more", self._campaign, due, text_of(error),
            )  # fmt: skip
            return
        made.state.shadow = {
            "name": key.hex(), "labels": due,
            **{name: known.files[name].digest for name in _FILES},
        }  # fmt: skip
        made.state.trained = due

    def _reviewed(
        self, ref: Mapping[str, Any] | None, labels: Sequence[Label], made: _Made
    ) -> Review | None:
        """How a version has done; None where there is none that can be used."""
        if ref is None:
            return None
        model = self._model(ref)
        if model is None:
            return Review(0.0, nan, nan)
        rows = side(self._own, labels, self._described, is_held_out=True)
        scores: dict[bytes, tuple[float, float]] = {}
        if rows:
            mean, spread = model.predict(np.array([inputs for _, inputs in rows]))
            said = zip(mean.tolist(), np.hypot(spread, model.noise).tolist(), strict=True)
            scores = {one.judged: each for (one, _), each in zip(rows, said, strict=True)}
        values = {one.judged: one.value for one, _ in rows}
        found = review(self._ladder, self._history, scores, values)
        made.reviews[model.name] = found
        return found

    def _write(self, made: _Made, *, was: State, after: int) -> None:
        """Write down what has come of a look, unless another process has looked meanwhile.

        Args:
            made: What has come of it.
            was: What it began with.
            after: The entry that this was read from.
        """
        state = made.state
        facts = state.as_json() | {"reviews": {
            name: [None if isnan(number) else number for number in found]
            for name, found in made.reviews.items()
        }}  # fmt: skip
        with self._lock:
            last = self._ledger.last(kind=KIND, campaign=self._campaign)
            if self._is_closed or (last is not None and last.id != after):
                return
            self._ledger.append(
                Block(KIND, self._campaign, verdicts=made.rows, facts=facts),
                charges=made.charges or None,
            )
            self.is_news |= state.names != was.names
        for name, found in made.reviews.items():
            _LOG.info(
                "campaign %s: version %.12s of its surrogate %s: gain %.3f ± %.3f of the labels' "
                "variance, on %.0f held-out labels", self._campaign, name,
                "speaks" if state.names[0] == name else "is silent", found.gain, found.error,
                found.pairs,
            )  # fmt: skip


_FILES: Final = (WEIGHTS, TRAINED)


def _trained(by: Training, rows: Sequence[tuple[Label, Floats]], pool: WorkerPool) -> Verdict:
    """What a training on these labels and numbers says, with both files of the version.

    Raises:
        ToolError: If it gives no weights.
    """
    values, inputs = zip(*((one.value, numbers) for one, numbers in rows), strict=True)
    table = training_data(np.array(inputs), np.array(values))
    (said,) = pool.verify(by, [Candidate(DATA, table)]).result().verdicts
    if not said.is_answer or WEIGHTS not in said.artifacts:
        raise ToolError(said.reason or "it gave no weights")
    trained = trained_bytes([one.content for one, _ in rows])
    files: dict[str, Artifact | bytes | Path] = {**said.files, TRAINED: trained}
    return replace(said, artifacts=files)


def _digests_of(verdict: Verdict) -> list[str]:
    return [verdict.files[name].digest for name in _FILES]


def _digests(ref: Mapping[str, Any]) -> list[str]:
    return [str(ref[name]) for name in _FILES]


@dataclass(slots=True)
class _Made:
    """What a look has made."""

    state: State
    rows: list[VerdictRow] = field(default_factory=list)
    charges: dict[Charged, tuple[Cost, int]] = field(default_factory=dict)
    reviews: dict[str, Review] = field(default_factory=dict)


def _check_place(ladder: Ladder, held: Sequence[Surrogate]) -> None:
    """Refuse a ladder in which nothing could be learnt, or nothing of it told apart."""
    first = ladder.rungs[0]
    is_first = first.tier is Tier.FAST and first.primaries == (held[0],)
    if len(held) > 1 or not is_first or len(ladder.rungs) == 1:
        raise ConfigError(
            f"the surrogate of ladder {ladder.name} must be the only scoring verifier of its fast "
            "tier, below a tier that it can learn from: give other estimates to it as descriptors"
        )
    if ladder.compares_above:
        raise ConfigError(
            f"the top tier of ladder {ladder.name} compares groups, and what it says holds inside "
            "one only: leave the surrogate out"
        )
    if raw := next((each for each in ladder.rungs[-1].verifiers if each.reads == "raw"), None):
        raise ConfigError(
            f'verifier {raw.name} at the top of ladder {ladder.name} has reads="raw", so that '
            "what it says holds for one spelling only: leave the surrogate out"
        )


def _named(ref: Mapping[str, Any]) -> Model:
    """A version of which only the name is known."""
    none: NDArray[np.float64] = np.empty(0)
    return Model(
        str(ref["name"]), 0, nan, none, none, nan, nan, (none, none, none, none), frozenset()
    )


def _data(verdict: Verdict, name: str, ledger: Ledger) -> bytes:
    artifact = verdict.files[name]
    found = artifact.data if artifact.data is not None else ledger.artifact(artifact.digest)
    if found is None:
        raise ConfigError(f"the ledger does not hold {name} of version {artifact.digest[:NAMED]}")
    return found
