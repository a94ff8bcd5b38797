"""The verifier `process-reward`: a step model says how good each step of an output is.

What separates steps, and what their scores amount to, is told in `steps`; which step models there
are, and what they are shown, in `stepmodel`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from math import isfinite
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import start, wait_for
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LadderError, ToolError
from verifier_ladder.exchange import failed
from verifier_ladder.rate import Rate
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.simulation.chatjudge import PromptedTask
from verifier_ladder.tiers.simulation.stepmodel import (
    POOLING,
    TEMPLATE,
    Asked,
    RefusedError,
    Scores,
    StepEndpoint,
)
from verifier_ladder.tiers.simulation.steps import COMBINE, TURNS, Splitter, Step
from verifier_ladder.tiers.simulation.stepservice import StepService, scores_of, service_of
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier, failure

_MODEL = "model"
_SHOWN = 120
"""Characters of a step in feedback."""
_SECONDS = 0.002
"""Of this machine's processor, for one output."""


class ProcessReward(Verifier):
    """Asks a step model for one score for each step of an output.

    Each step is one of the verdict's turns: its score, and as `span` its characters in the output.
    The verdict's own score is the least of them, their product, the last, or their mean; the mean
    of the turns is what `RewardRule.weights` calls `process`.

    **Failures** are abstentions with `failed_at="tool"`: a step model that is away, or answers
    with anything but one number of the range a step. One that refuses an output, and scores a
    harmless one, is an abstention of the verifier's own, with `refused` in its evidence: it is
    kept.

    The check key holds the model's name or service, form, template, tag, range and rules; neither
    addresses nor the names of keys.

    Example:
        >>> steps = ProcessReward(
        ...     model="Qwen/Qwen2.5-Math-PRM-7B", url="http://127.0.0.1:8000", split="paragraphs",
        ...     least=0.5)
        >>> steps.settings["combine"]
        'min'
    """

    name = "process-reward"
    version = "1"
    tier = Tier.SIMULATION
    kind = "text"
    domain = "text"
    capabilities = ("reasoning",)
    task_fields = ("prompt",)
    cost = Cost(seconds=_SECONDS)
    control = Candidate("text", "1 + 1 = 2", task={"prompt": "What is 1 + 1?"})

    @checked(max_steps=1, max_characters=1, batch=1, concurrency=1, retries=0, timeout=0.001)
    def __init__(
        self,
        *,
        model: str = "",
        url: str = "",
        api_key: str = "",
        form: str = POOLING,
        template: str = TEMPLATE,
        tag: str | None = None,
        label: int = -1,
        service: str | StepService | None = None,
        split: str = "lines",
        mark: str = "",
        combine: str = "min",
        least: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        max_steps: int = 256,
        max_characters: int = 100_000,
        timeout: float = 60.0,
        retries: int = 3,
        batch: int = 64,
        concurrency: int = 8,
        rate: Rate | str | None = None,
    ) -> None:
        """Describe the step model and the rules; nothing is asked yet.

        Args:
            model: The model's name behind vLLM.
            url: The server's address, without `/v1`; the variable `STEP_MODEL_URL` if left out.
            api_key: Name of the variable that holds the key; none is sent if left out.
            form: How it is asked: `pooling`, `classify` or `score`; see `stepmodel`.
            template: What the model is shown: text with `{prompt}` and, behind it, `{steps}`.
                With `score` the two go apart, and it is not used.
            tag: What stands behind each step; `<extra_0>` with `pooling`, else an end of line.
            label: Which class of an answer is the good one; the last by default.
            service: A step model of this machine instead: a `StepService`, or the name of one
                among the entry points `verifier_ladder.services`.
            split: What separates steps: `lines`, `paragraphs`, `marks` or `turns`; see `steps`.
            mark: The mark, with `split="marks"`.
            combine: What the scores amount to: `min`, `product`, `last` or `mean`.
            least: An output below it is rejected; none is if left out.
            low: The worst score of a step.
            high: The best score of a step.
            max_steps: Of the longest output.
            max_characters: Of the longest output.
            timeout: Seconds that one answer may take.
            retries: How often a busy server is asked again.
            batch: Most texts of one request.
            concurrency: Requests that a worker has out at once.
            rate: How many outputs may be asked about in a time, on all hosts: `"10/s"`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        self._splitter = Splitter(split, mark)
        _check_scores(combine, least, low, high)
        own: dict[str, Any] = {
            "split": split, "mark": mark, "combine": combine, "least": least, "low": float(low),
            "high": float(high), "max_steps": max_steps, "max_characters": max_characters,
        }  # fmt: skip
        self.reads_turns = split == TURNS
        self.rate = rate
        self._batch, self._concurrency = batch, concurrency
        # One output may be asked about with others, alone, and beside the control.
        self.timeout = 3 * timeout + 1
        if service is not None:
            if model or url:
                raise ConfigError("service is instead of a model at a url; leave these out")
            self.services = {_MODEL: service_of(service)}
            super().__init__(**own)
            return
        self._endpoint = StepEndpoint(
            model, url, form=form, template=template, tag=tag, label=label, api_key=api_key,
            timeout=timeout, retries=retries, batch=batch,
        )  # fmt: skip
        self.network = True
        self.secrets, self.env = self._endpoint.secrets, self._endpoint.env
        super().__init__(**self._endpoint.settings, **own)

    @property
    def answers_together(self) -> bool:
        """No: an error costs only its own output."""
        return False

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Verdict]:
        """Split all outputs, ask about those that have steps, and answer in order."""
        read = [self._read(candidate) for candidate in candidates]
        asked = [each for each in read if isinstance(each, Asked)]
        scores = self._asked(asked)
        for each in read:
            yield each if isinstance(each, Verdict) else self._answered(each, next(scores))

    def _read(self, candidate: Candidate) -> Asked | Verdict:
        """What is to be scored of an output, or why nothing is."""
        try:
            prompt = read_task(PromptedTask, candidate.task).asked
            most, longest = self.settings["max_steps"], self.settings["max_characters"]
            return Asked(prompt, self._splitter.of(candidate, most, longest))
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except LadderError as error:
            return failure(error)

    # ---- Who is asked

    def _asked(self, asked: Sequence[Asked]) -> Iterator[Scores]:
        """The scores of outputs, in order: as many requests as it takes, some of them at once."""
        if self.services:
            yield from scores_of(self.services[_MODEL], asked, self._batch)
            return
        gate = asyncio.Semaphore(self._concurrency)
        requests = self._endpoint.requests(asked)
        begun: list[Future[list[Scores]]] = []
        try:
            begun += [
                start(self._endpoint.scores([asked[at] for at in each], gate)) for each in requests
            ]
            for request in begun:
                yield from request.result()
        finally:  # Whoever stops listening wants no more of them.
            for request in begun:
                request.cancel()

    def _answered(self, asked: Asked, scores: Scores) -> Verdict:
        """The verdict on an output."""
        if isinstance(scores, RefusedError):
            return self._refused(scores)
        if isinstance(scores, LadderError):
            return failed(scores)
        wrong = self._wrong(asked, scores)
        return failed(wrong) if wrong is not None else self._verdict(asked.steps, scores)

    def _refused(self, error: RefusedError) -> Verdict:
        """What a refusal is worth: nothing, unless the same model scores a harmless output."""
        harmless = Asked("What is 1 + 1?", [Step("1 + 1 = 2")])
        (told,) = wait_for(self._endpoint.scores([harmless], asyncio.Semaphore(1)))
        if isinstance(told, LadderError):
            return failed(error)
        return Verdict.abstain(
            f"the step model refuses this output, and scores a harmless one: {error}",
            evidence={"refused": 1},
        )

    def _wrong(self, asked: Asked, scores: Sequence[float]) -> ToolError | None:
        """What is wrong with scores, if anything."""
        low, high = self.settings["low"], self.settings["high"]
        if len(scores) != len(asked.steps):
            return ToolError(
                f"the step model gives {len(scores)} scores for {len(asked.steps)} steps"
            )
        if not all(low <= score <= high for score in scores):  # NaN is not, either.
            return ToolError(
                f"the step model gives scores that are not from {low:g} to {high:g}; set low and "
                "high to its range"
            )
        return None

    # ---- What it amounts to

    def _verdict(self, steps: Sequence[Step], scores: Sequence[float]) -> Verdict:
        combine, least = self.settings["combine"], self.settings["least"]
        score = COMBINE[combine](scores)
        worst = min(range(len(scores)), key=lambda place: scores[place])
        told = {"steps": len(steps), "worst": worst}
        turns = tuple(
            TurnVerdict(place, one, self._advice(step, one, least), step.span)
            for place, (step, one) in enumerate(zip(steps, scores, strict=True))
        )
        if least is None or score >= least:
            return Verdict.accept(score, turns=turns, evidence=told)
        return Verdict.reject(
            f"the steps come to {score:.3g} ({combine}), and {least:g} is the least",
            score=score, turns=turns, evidence=told,
            feedback=f"Step {worst + 1} of {len(steps)} is the weakest, with {scores[worst]:.3g}: "
            f"{_quoted(steps[worst])}. Mend it, and what follows from it.",
        )  # fmt: skip

    @staticmethod
    def _advice(step: Step, score: float, least: float | None) -> str:
        if least is not None and score < least:
            return f"{_quoted(step)} has {score:.3g}, and {least:g} is the least: mend it."
        return ""


def _quoted(step: Step) -> str:
    return f"“{printable(step.text, _SHOWN)}”"


def _check_scores(combine: str, least: float | None, low: float, high: float) -> None:
    if combine not in COMBINE:
        raise ConfigError(f"combine={combine!r}: choose {', '.join(COMBINE)}")
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ConfigError(f"low={low!r}, high={high!r}: give two numbers, the lower one first")
    if combine == "product" and (low < 0 or high > 1):
        raise ConfigError('combine="product" takes scores from 0 to 1; set low and high so')
    if least is not None and not low <= least <= high:
        raise ConfigError(f"least={least!r} is not from {low:g} to {high:g}")
