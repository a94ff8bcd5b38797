"""What all judges share: who is asked, what a refusal is, and when two of them disagree.

**What is no verdict.** A judge that is away, busy, cut off, or answers anything but its form is
unknown and never 0: an abstention that failed at *tool*.

**What is a verdict without opinion.** Four abstentions are considered ones, which are kept, so
that nobody is asked again: of a refusal that repeats while a harmless output is judged, of an
opinion that changes with the order of what is compared, of two judges that disagree, and of a
task by which nothing can be judged. Evidence tells which, and they are counted.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Annotated, Any, ClassVar, Final, Unpack

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from verifier_ladder.asynchronous import AsyncVerifier, wait_for
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.exchange import failed
from verifier_ladder.keys import digest
from verifier_ladder.rate import Rate
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import text_of
from verifier_ladder.tiers.simulation.canaries import BUILT_IN, Canary, Look, canary_watch
from verifier_ladder.tiers.simulation.chatendpoint import (
    ChatEndpoint,
    Completion,
    EndpointSettings,
)
from verifier_ladder.tiers.simulation.judgeform import Form, Texts, quoted
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import NO_EVIDENCE, Verdict, mean_of

ANSWERS = 2
"""How often a judge is asked that refuses."""
COMMENT = 1000
"""Characters of feedback."""
REFUSES = "the judge refuses this output, and judges a harmless one"
_LETTERS = 4
"""Characters of a token, roughly."""
_WORDS = 200
"""Tokens that an answer takes, roughly."""
LEAST: Final = {"retries": 0, "concurrency": 1, "max_characters": 1, "canary_apart": 0.0}
"""The least value of settings."""


# ---- The task


class _Said(BaseModel):
    """One message of a prompt that is a conversation."""

    role: str
    content: str


def _conversation(prompt: object) -> object:
    """A prompt as messages; one that is text is a message of nobody."""
    messages = [{"role": "", "content": prompt}] if isinstance(prompt, str) else prompt
    try:
        is_told = bool(prompt) and all(_Said.model_validate(each) for each in messages)  # type: ignore[attr-defined]
    except (ValidationError, TypeError):
        is_told = False
    if not is_told:
        raise ValueError("give text, or messages with role and content")
    return messages


class PromptedTask(BaseModel):
    """The field of a task that says what was asked."""

    model_config = ConfigDict(strict=True)
    prompt: Annotated[list[_Said], BeforeValidator(_conversation)]

    @property
    def asked(self) -> str:
        """The prompt as one text."""
        parts = (f"{each.role}: {each.content}" for each in self.prompt)
        return "\n\n".join(part.removeprefix(": ") for part in parts)


class JudgedTask(PromptedTask):
    """Fields of a task."""

    reference: str | None = None


# ---- What is thought of an output


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one model thinks of an output."""

    score: float | None
    """None where it has none."""
    comment: str = ""
    scores: Mapping[str, float] = field(default_factory=lambda: NO_EVIDENCE)
    reason: str = ""
    """Why it has none."""
    evidence: Mapping[str, Any] = field(default_factory=lambda: NO_EVIDENCE)


Question = tuple[Form, Texts]
"""What is asked, and about which texts."""


async def answer_to(
    member: ChatEndpoint, question: Question, control: Question, said: list[Completion]
) -> dict[str, Any] | None:
    """The answer of one model to a question.

    Args:
        member: The model.
        question: What it is asked.
        control: A harmless question.
        said: Takes all that it says.

    Returns:
        The fields of the answer; None if it refuses again and again, and answers the control.

    Raises:
        ToolError: If there is no answer.
    """
    for _ in range(ANSWERS):
        said.append(await _asked(member, question))
        if not said[-1].is_refusal:
            return question[0].read(said[-1].text)
    said.append(await _asked(member, control))
    if said[-1].is_refusal:
        raise ToolError("the judge refuses to judge anything, a harmless output too")
    control[0].read(said[-1].text)
    return None


async def _asked(member: ChatEndpoint, question: Question) -> Completion:
    form, texts = question
    return await member.ask(form.system, form.user(texts), form.format)


def judged_text(content: str | bytes, most: int) -> str:
    """What is judged of an output: what is thought aloud before `</think>` is not.

    Raises:
        CandidateError: If it is no text, or has more than `most` characters as it is quoted.
    """
    text = text_of(content).rpartition("</think>")[2]
    size = len(text) if len(text) > most else len(quoted(text))
    if size > most:
        raise CandidateError(
            f"the output has {size} characters, those that can't be seen as they are written out; "
            f"at most {most} are judged",
            feedback=f"Write at most {most} characters.",
        )
    return text


def tokens(letters: int) -> tuple[int, int]:
    """Tokens that a question of so many characters takes, and those of an answer, roughly."""
    return letters // _LETTERS, _WORDS


# ---- The verifiers


class ChatSettings(EndpointSettings, total=False):
    """Settings of every verifier that asks a language model."""

    timeout: float
    """Seconds that one answer may take; 60 if left out."""
    retries: int
    """How often a busy endpoint is asked again; 3 if left out."""
    concurrency: int
    """How many outputs, or groups of them, a worker asks about at once; 8 if left out."""
    rate: Rate | str | None
    """How many of them may be asked about in a time, on all hosts: `"10/s"`."""
    max_characters: int
    """Of the longest output, as it is quoted; 100 000 if left out."""
    canaries: Sequence[Mapping[str, Any]] | str | None
    """Outputs whose grade is known, 12 or more, each with `prompt`, `output`, `grade` and perhaps
    `reference`; or `"built-in"`, which they are if left out, where the question is the one that
    comes along. A judge that grades more than a tenth of them otherwise has shifted, and abstains.
    With `[]` none is graded."""
    canary_period: float | str
    """Time after which they are graded again; a day if left out."""
    canary_apart: float | None
    """How far a grade may be off; 0.15 of the range if left out, or 0.4 for the built-in ones."""


class JudgeSettings(ChatSettings, total=False):
    """Settings of every judge of one output."""

    second: Mapping[str, Any] | None
    """Another model that must agree: its `EndpointSettings`."""


class ChatVerifier(AsyncVerifier):
    """Base of verifiers that ask a language model, or two: it holds what both have as settings."""

    version = "2"
    kind = "text"
    domain = "text"
    capabilities = ("reasoning",)
    task_fields = ("prompt", "reference")
    hidden = ("reference",)
    asks: ClassVar[int] = 1
    """How many questions one output takes."""

    def __init__(
        self,
        form: Form,
        own: Mapping[str, Any],
        known: Sequence[Canary] = (),
        *,
        low: float = 0.0,
        high: float = 1.0,
        second: Mapping[str, Any] | None = None,
        canaries: Sequence[Mapping[str, Any]] | str | None = None,
        canary_period: float | str = "1 d",
        canary_apart: float | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        concurrency: int = 8,
        rate: Rate | str | None = None,
        max_characters: int = 100_000,
        **endpoint: Unpack[EndpointSettings],
    ) -> None:
        """Describe the verifier, as `JudgeSettings` says; nothing is asked yet.

        It asks `form`. What affects results beside is its `own` settings. Grades are from `low`
        to `high`, and `known` are the canaries that come along.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        self.form = form
        self.members = [ChatEndpoint(**endpoint, timeout=timeout, retries=retries)]
        told = {**self.members[0].settings, **own, "max_characters": max_characters}
        if second is not None:
            self.members.append(_second(second, timeout=timeout, retries=retries))
            told["second"] = self.members[-1].settings
        self.watch = watch = canary_watch(
            canaries, known, low=low, high=high, apart=canary_apart, period=canary_period,
            at_once=concurrency,
        )  # fmt: skip
        self.tools = {"template": form.digest}
        if canaries is not None:
            told["canaries"] = canaries if canaries == BUILT_IN else list(canaries)
        if watch.canaries:
            self.tools["canaries"] = digest([each.model_dump() for each in watch.canaries]).hex()
        self.secrets = tuple(name for each in self.members for name in each.secrets)
        self.env = tuple(dict.fromkeys(name for each in self.members for name in each.env))
        self.cost = self._cost(2 * len(form.system), seconds=0.005)
        turns = 1 + ceil(len(watch.canaries) / concurrency)
        self.timeout = timeout * ((ANSWERS + 1) * self.asks * len(self.members) * turns + 1)
        self.concurrency, self.rate = concurrency, rate
        super().__init__(**told)

    def _cost(self, letters: int, seconds: float) -> Cost:
        money = sum(self.asks * each.price(*tokens(letters)) for each in self.members)
        return Cost(seconds=seconds, money=money)

    @abstractmethod
    async def graded(self, canary: Canary) -> Verdict:
        """The verdict on a canary now.

        Raises:
            ToolError: If there is none.
        """

    def graded_canaries(self) -> list[dict[str, Any]]:
        """The canaries with the grades that the judge gives them now, as settings take them.

        Those of which it has no opinion are left out: they would say nothing.

        Raises:
            ToolError: If one can't be judged now.
        """
        verdicts = wait_for(self.watch.graded(self.graded))
        return [
            {**canary.model_dump(exclude_none=True), "grade": verdict.score}
            for canary, verdict in zip(self.watch.canaries, verdicts, strict=True)
            if verdict.score is not None
        ]


class ChatJudge(ChatVerifier):
    """Base of judges of one output.

    A subclass says which texts are quoted (`questions`) and what the answers amount to
    (`opinion`).
    """

    tier = Tier.SIMULATION

    @abstractmethod
    def questions(self, task: JudgedTask, output: str) -> Sequence[Texts]:
        """The texts of each question about an output.

        Raises:
            TaskError: If the task can't be judged by.
        """

    @abstractmethod
    def opinion(self, answers: Sequence[Mapping[str, Any]]) -> Opinion:
        """What one model's answers to the questions amount to."""

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the length of the output."""
        letters = len(self.form.system) + len(candidate.content)
        return self._cost(letters, seconds=self.cost.seconds)

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Ask about one output, and about the canaries first if that is due."""
        try:
            task = read_task(JudgedTask, candidate.task)
            output = judged_text(candidate.content, self.settings["max_characters"])
            questions = self.questions(task, output)
            seen = await self.watch.look(self.graded)
            if seen.shift:
                return Verdict.abstain(seen.shift, failed_at="tool", cost=seen.cost)
            return noted(seen, await self._judged(questions))
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except (ToolError, ConfigError) as error:
            return failed(error)

    async def graded(self, canary: Canary) -> Verdict:
        """The verdict on a canary now."""
        task = read_task(JudgedTask, canary.task)
        return await self._judged(self.questions(task, canary.output))

    async def _judged(self, questions: Sequence[Texts]) -> Verdict:
        """The verdict of one model, or of two: the second is asked if the first has an opinion."""
        said: list[list[Completion]] = []
        opinions: list[Opinion] = []
        for member in self.members:
            said.append([])
            opinions.append(await self._asked(member, questions, said[-1]))
            if opinions[-1].score is None:
                break
        return self._verdict(opinions, self._told(said), self._paid(said))

    async def _asked(
        self, member: ChatEndpoint, questions: Sequence[Texts], said: list[Completion]
    ) -> Opinion:
        """The opinion of one model; `said` takes all that it says.

        Raises:
            ToolError: If a question has no answer.
        """
        answers = []
        for texts in questions:
            answer = await answer_to(member, (self.form, texts), self._harmless(), said)
            if answer is None:
                return Opinion(None, reason=REFUSES, evidence={"refusals": ANSWERS})
            answers.append(answer)
        return self.opinion(answers)

    def _harmless(self) -> Question:
        harmless = self.control
        assert harmless is not None  # noqa: S101 - each judge has one
        task = read_task(JudgedTask, harmless.task)
        return self.form, self.questions(task, str(harmless.content))[0]

    # ---- What it amounts to

    def _verdict(
        self, opinions: Sequence[Opinion], told: Mapping[str, Any], cost: Cost | None
    ) -> Verdict:
        none = next((each for each in opinions if each.score is None), None)
        if none is not None:
            return Verdict.abstain(none.reason, evidence={**none.evidence, **told}, cost=cost)
        given = [each.score for each in opinions if each.score is not None]
        if self._disagree(given):
            return Verdict.abstain(
                "two judges disagree", evidence={"disagreement": given, **told}, cost=cost
            )
        score, least, high = mean_of(given), self.settings["least"], self.settings.get("high", 1.0)
        worst = min(opinions, key=lambda each: each.score or 0.0)
        kept: dict[str, Any] = {
            "scores": {
                name: mean_of([each.scores[name] for each in opinions]) for name in worst.scores
            },
            "feedback": printable(worst.comment, COMMENT), "evidence": told, "cost": cost,
        }  # fmt: skip
        if least is None or score >= least:
            return Verdict.accept(score, **kept)
        reason = f"the judge gives it {score:g}, and {least:g} is the least"
        kept["feedback"] = kept["feedback"] or f"The judge gave {score:g} of {high:g}."
        return Verdict.reject(reason, score=score, **kept)

    def _disagree(self, scores: Sequence[float]) -> bool:
        """Whether two scores are too far apart, or one is rejected and the other is not."""
        least = self.settings["least"]
        sides = {score >= least for score in scores} if least is not None else set()
        return len(sides) > 1 or max(scores) - min(scores) > self.settings.get("apart", 0.0)

    def _told(self, said: Sequence[Sequence[Completion]]) -> dict[str, Any]:
        """Evidence of who has answered."""
        told = [each.told(spoken) for each, spoken in zip(self.members, said, strict=False)]
        return told[0] if len(told) == 1 else {**told[0], "second": told[1]}

    def _paid(self, said: Sequence[Sequence[Completion]]) -> Cost | None:
        """What the answers cost; None where that is not told of all."""
        paid = [each.paid(spoken) for each, spoken in zip(self.members, said, strict=False)]
        known = [money for money in paid if money is not None]
        return Cost(money=sum(known)) if known and len(known) == len(paid) else None


def noted(seen: Look, verdict: Verdict) -> Verdict:
    """A verdict that tells, and pays for, what was found of the canaries."""
    if seen.off is None:
        return verdict
    costs = [each for each in (verdict.cost, seen.cost) if each is not None]
    return dataclasses.replace(
        verdict, evidence={**verdict.evidence, "canaries_off": seen.off},
        cost=sum(costs, Cost()) if costs else None,
    )  # fmt: skip


def _second(given: Mapping[str, Any], **shared: Any) -> ChatEndpoint:
    """The endpoint of a second judge.

    Raises:
        ConfigError: If a setting is unknown or makes no sense.
    """
    known = EndpointSettings.__annotations__
    if unknown := sorted(given.keys() - known):
        raise ConfigError(
            f"second={unknown}: a second judge is given {', '.join(sorted(known))}; what it is "
            "asked is what the first one is"
        )
    if not given.get("model"):
        raise ConfigError("second: name its model")
    return ChatEndpoint(**given, **shared)
