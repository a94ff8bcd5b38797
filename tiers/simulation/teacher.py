"""The verifier `teacher`: how probable a stronger model finds each token that a student wrote.

It is what on-policy distillation trains on: the student's own completions, scored token by token.
How teachers are asked, and which are refused, is told in `teachermodel`; what is kept of them, and
how several are mixed, in `tokenscores`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from math import isfinite
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import start
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, LadderError, ToolError
from verifier_ladder.exchange import failed
from verifier_ladder.rate import Rate
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import text_of
from verifier_ladder.tiers.simulation.stepservice import offered
from verifier_ladder.tiers.simulation.teachermodel import (
    TeacherEndpoint,
    TeacherService,
    Written,
    asked_service,
    check_vocabulary,
)
from verifier_ladder.tiers.simulation.tokenscores import (
    ARTIFACT,
    TokenScores,
    as_artifact,
    mixed,
)
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import LARGEST_WEIGHT, NO_EVIDENCE, Verdict, mean_of, score_name
from verifier_ladder.verifiers import Verifier, failure

_BYTES = 24
"""Of an artifact for each token that is named, roughly."""
_LARGEST = 4 * 1024 * 1024
"""Bytes of an artifact that ledgers keep, unless they are set otherwise."""
Told = TokenScores | LadderError
_Ids = list[Annotated[int, Field(ge=0, lt=2**31)]]


class TaughtTask(BaseModel):
    """Fields of a task: the tokens, as the student read and wrote them."""

    model_config = ConfigDict(strict=True)
    prompt_ids: Annotated[_Ids, Field(min_length=1)]
    """Not empty: no teacher says how probable the first token is, with nothing before it."""
    completion_ids: _Ids


class Teacher(Verifier):
    """Scores the tokens of a completion by one teacher, or by several that are mixed.

    The verdict's score is the mean log-probability of a token, in nats; with several teachers each
    has a named score beside it. All numbers are in its artifact `teacher.json`, which exports of
    the kind `distillation` carry; no learner gets them with the reward.

    It accepts whatever it can score. An output without tokens is rejected, and one with more than
    `max_tokens`. A teacher that is away, or has another tokenizer, is unknown.

    Example:
        >>> teacher = Teacher(teachers={"big": {
        ...     "model": "Qwen/Qwen3-32B", "url": "http://127.0.0.1:8000/v1"}})
        >>> teacher.settings["weights"]
        {'big': 1.0}
    """

    name = "teacher"
    version = "1"
    tier = Tier.SIMULATION
    kind = "text"
    domain = "text"
    capabilities = ("reasoning",)
    task_fields = ("prompt_ids", "completion_ids")
    unit = "nats"
    cost = Cost(seconds=0.005)
    control = Candidate("text", "4", task={"prompt_ids": [1], "completion_ids": [2]})

    @checked(top=1, max_tokens=1, batch=1, concurrency=1, retries=0, timeout=0.001)
    def __init__(
        self,
        *,
        teachers: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        top: int = 20,
        max_tokens: int = 8192,
        vocabulary: str = "",
        timeout: float = 60.0,
        retries: int = 3,
        batch: int = 16,
        concurrency: int = 8,
        rate: Rate | str | None = None,
    ) -> None:
        """Describe the teachers; nothing is asked yet.

        Args:
            teachers: By name: `model` and `url`, and perhaps `api_key`, of one behind vLLM, with
                the name of the variable that holds the key; or a `TeacherService`, or the name of
                one among the entry points `verifier_ladder.services`.
            weights: How much each counts in the mixture; alike by default.
            top: How many of the most probable tokens are kept at each place.
            max_tokens: Of the longest completion.
            vocabulary: Digest of the student's vocabulary (`tokenscores.vocabulary_digest`), which
                teachers in services must have; if left out, they must agree with each other.
            timeout: Seconds that one answer may take.
            retries: How often a busy server is asked again.
            batch: Most completions of one call of a service.
            concurrency: Requests that a worker has out at once at one server.
            rate: How many completions may be asked about in a time, on all hosts: `"10/s"`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        given = dict(teachers or {})
        shares = _weights(given, weights)
        if top * max_tokens * _BYTES > _LARGEST:
            raise ConfigError(
                f"top={top} of max_tokens={max_tokens} is more than an artifact of 4 MiB holds; "
                f"choose top up to {_LARGEST // _BYTES // max_tokens}, or fewer tokens"
            )
        self._endpoints: dict[str, TeacherEndpoint] = {}
        services: dict[str, TeacherService] = {}
        for name, how in given.items():
            if isinstance(how, Mapping):
                self._endpoints[name] = _endpoint(name, how, timeout, retries)
            else:
                services[name] = _service(name, how)
        self.services, self._order = services, list(given)
        self.network = bool(self._endpoints)
        self.secrets = tuple(s for each in self._endpoints.values() for s in each.secrets)
        self.timeout, self.rate = 2 * timeout + 1, rate
        self._batch, self._concurrency = batch, concurrency
        self._vocabulary = ""
        super().__init__(
            teachers={name: each.settings for name, each in self._endpoints.items()},
            weights=shares, top=top, max_tokens=max_tokens, vocabulary=vocabulary,
        )  # fmt: skip

    @property
    def answers_together(self) -> bool:
        """No: an error costs only its own completion."""
        return False

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Verdict]:
        """Ask each teacher about all completions that have tokens, and answer in order."""
        read = [self._read(candidate) for candidate in candidates]
        written = [each for each in read if isinstance(each, Written)]
        begun: list[Future[Told]] = []
        told = {name: self._told(name, written, begun) for name in self._order}
        try:
            for each in read:
                yield (
                    each if isinstance(each, Verdict)
                    else self._verdict(each, {name: next(said) for name, said in told.items()})
                )  # fmt: skip
        finally:  # Whoever stops listening wants no more of them.
            for request in begun:
                request.cancel()

    def _read(self, candidate: Candidate) -> Written | Verdict:
        """The tokens of a completion, or why there are none to score."""
        try:
            task = read_task(TaughtTask, candidate.task)
            if not self._order:
                raise ConfigError("name a teacher in the settings")
            count, most = len(task.completion_ids), self.settings["max_tokens"]
            if not count:
                raise CandidateError("there is no token", feedback="Write an answer.")
            if count > most:
                raise CandidateError(
                    f"the output has {count} tokens; at most {most} are scored",
                    feedback=f"Write at most {most} tokens.",
                )
            return Written(task.prompt_ids, task.completion_ids, text_of(candidate.content))
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except LadderError as error:
            return failure(error)

    # ---- Who is asked

    def _told(
        self, name: str, written: Sequence[Written], begun: list[Future[Told]]
    ) -> Iterator[Told]:
        """What one teacher says of completions, in order; `begun` takes what is under way."""
        if name in self.services:
            return self._in_service(name, written)
        gate = asyncio.Semaphore(self._concurrency)
        requests = [start(self._asked(self._endpoints[name], each, gate)) for each in written]
        begun += requests
        return (request.result() for request in requests)

    async def _asked(
        self, endpoint: TeacherEndpoint, written: Written, gate: asyncio.Semaphore
    ) -> Told:
        try:
            async with gate:
                return await endpoint.scores(written, self.settings["top"])
        except (ToolError, ConfigError) as error:
            return error

    def _in_service(self, name: str, written: Sequence[Written]) -> Iterator[Told]:
        """What a service says; where a call about several fails, each is asked about alone."""
        for begin in range(0, len(written), self._batch):
            some = written[begin : begin + self._batch]
            try:
                yield from self._called(name, some)
            except LadderError as error:
                for each in some:
                    yield error if len(some) == 1 else self._alone(name, each)

    def _alone(self, name: str, written: Written) -> Told:
        try:
            return self._called(name, [written])[0]
        except LadderError as error:
            return error

    def _called(self, name: str, written: Sequence[Written]) -> list[TokenScores]:
        service = self.services[name]
        wanted = self.settings["vocabulary"] or self._vocabulary
        self._vocabulary = check_vocabulary(service, name, wanted)
        return asked_service(service, name, written, self.settings["top"])

    # ---- What it amounts to

    def _verdict(self, written: Written, told: Mapping[str, Told]) -> Verdict:
        scores: dict[str, TokenScores] = {}
        for name, said in told.items():
            if isinstance(said, LadderError):
                return failed(said)
            scores[name] = said
        weights = self.settings["weights"]
        whole = mixed(
            list(scores.values()), [weights[name] for name in scores], self.settings["top"]
        )
        data = as_artifact(
            whole, written.tokens, weights, self.settings["vocabulary"] or self._vocabulary
        )
        named: dict[str, float] = {}
        for name, each in scores.items():
            named[score_name(name, named)] = each.mean
        return Verdict.accept(
            whole.mean, unit=self.unit, artifacts={ARTIFACT: data},
            scores=named if len(named) > 1 else NO_EVIDENCE,
            evidence={"tokens": len(written.tokens), "tail": round(mean_of(whole.tails), 6)},
        )  # fmt: skip


def _weights(teachers: Mapping[str, Any], weights: Mapping[str, float] | None) -> dict[str, float]:
    given = dict(weights or {})
    if unknown := sorted(given.keys() - teachers.keys()):
        raise ConfigError(f"weights of {', '.join(unknown)}, which are no teachers")
    if not all(isfinite(one) and 0 < one <= LARGEST_WEIGHT for one in given.values()):
        raise ConfigError(f"weights={given}: give numbers above 0, up to {LARGEST_WEIGHT:g}")
    return {name: float(given.get(name, 1.0)) for name in teachers}


def _endpoint(name: str, how: Mapping[str, Any], timeout: float, retries: int) -> TeacherEndpoint:
    known = {"model": "", "url": "", "api_key": ""}
    if how.keys() - known.keys() or not all(isinstance(each, str) for each in how.values()):
        raise ConfigError(f"teacher {name}: give model, url and perhaps api_key, as text")
    told = {**known, **how}
    return TeacherEndpoint(
        name, told["model"], told["url"], api_key=told["api_key"], timeout=timeout,
        retries=retries,
    )  # fmt: skip


def _service(name: str, given: Any) -> TeacherService:
    if isinstance(given, str):
        given = offered(given, f"teacher {name}")
    if not isinstance(given, TeacherService):
        raise ConfigError(
            f"teacher {name}: give model and url of an endpoint, a TeacherService, or its name"
        )
    return given
