"""Scorers of Inspect: what `inspect-ai` scores samples with, as a verifier of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Candidate
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.media import restored
from verifier_ladder.signature import MESSAGES
from verifier_ladder.text import printable
from verifier_ladder.verdict import MOST_SCORES, Verdict, mean_of, score_name

_COLUMNS = ("prompt", "target", "answer", "choices", "metadata", MESSAGES)
_MODEL: Final = "none/none"
"""What has written the output, as Inspect names models: nobody says."""
_WORDS: Final[Mapping[str, float]] = {
    "c": 1.0, "correct": 1.0, "yes": 1.0, "true": 1.0, "p": 0.5, "partial": 0.5,
    "i": 0.0, "incorrect": 0.0, "no": 0.0, "false": 0.0,
}  # fmt: skip
_NO_ANSWER: Final = frozenset({"n", "noanswer"})
_OF_SCORER: Final = frozenset({"grader_failed", "scoring_failed"})
"""Reasons that blame whoever scores, and not what is scored."""
_SHOWN = 2000
_is_offline: ContextVar[bool] = ContextVar("is_offline", default=False)


class InspectScorerVerifier(AsyncVerifier):
    """A `Scorer` of Inspect, asked about one output at a time.

    Its score is the value: `C` is 1, `P` 0.5 and `I` 0; numbers and truth values are themselves.
    Of a value that is a list or has names, each number is one of `scores`, and their mean the
    score, unless `main` names another.

    **Unknown, and never 0**, is what a scorer raises or does not score (`None`, NaN), what it
    blames on itself or its grader, and a text that is none of those above: Inspect's own metrics
    make 0 of each. So is `N`, no answer, unless `no_answer` says what it is worth: whoever pays
    nothing for it lets a policy keep silent where it would be wrong.

    So is an output whose task has no `target`: a scorer would compare it with "None".

    **No model is called**, unless the verifier declares `network=True`.

    Example:
        >>> def make():
        ...     from inspect_ai.scorer import includes
        ...     return includes()
        >>> InspectScorerVerifier(make, name="includes", version="1")
        <verifier includes 1 (fast)>
    """

    network = False
    hidden = ("target", "answer")

    @checked(name=1, version=1)
    def __init__(
        self,
        make: Callable[[], Any],
        *,
        name: str,
        version: str,
        no_answer: float | None = None,
        main: str = "",
        columns: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the scorer; it is made in each worker.

        Args:
            make: Gives the scorer, such as `lambda: match(numeric=True)`.
            name: Name of the verifier.
            version: Raise it when results may change, such as with a new release of Inspect.
            no_answer: What `N` is worth; None for unknown.
            main: The name of the score that counts, where a value has names.
            columns: Columns of the dataset that the scorer reads as metadata of the sample, beside
                `metadata`.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `network` or `secrets`.

        Raises:
            ConfigError: If an attribute is unknown.
        """
        self.name, self.version, self._make = name, version, make
        self._no_answer, self._main, self._columns = no_answer, main, tuple(columns)
        self.task_fields = tuple(dict.fromkeys((*_COLUMNS, *columns)))
        set_attributes(self, attributes)
        own = {"no_answer": no_answer, "main": main}
        super().__init__(**{**own, **(settings or {})})

    def _depends_on(self) -> object:
        return None

    def setup(self) -> None:
        """Make the scorer.

        Raises:
            ConfigError: If Inspect is not installed.
        """
        try:
            import inspect_ai.scorer
        except ImportError:
            raise ConfigError("a scorer of Inspect needs it: pip install inspect-ai") from None
        del inspect_ai
        _watch_models()
        self._scorer = self._make()

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Score one output."""
        if _target_of(candidate.task or {}) is None:
            return Verdict.abstain('the task has no target; give "" if the scorer reads none')
        state, target = self._sample(candidate)
        with _offline(is_so=not self.network):
            score = await self._scorer(state, target)
        return self._verdict(score)

    def _sample(self, candidate: Candidate) -> tuple[Any, Any]:
        """An output as the state of a sample that has ended, and its target."""
        from inspect_ai.model import (
            ChatMessageAssistant,
            ChatMessageSystem,
            ChatMessageUser,
            ModelName,
            ModelOutput,
        )
        from inspect_ai.scorer import Target
        from inspect_ai.solver import TaskState

        kinds: dict[str, Any] = {
            "user": ChatMessageUser, "system": ChatMessageSystem,
            "assistant": ChatMessageAssistant,
        }  # fmt: skip
        task = {name: restored(value) for name, value in (candidate.task or {}).items()}
        prompt = task.get("prompt") or ""
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        said = [
            kinds[message["role"]](content=message.get("content") or "")
            for message in [*asked, *(task.get(MESSAGES) or ())]
            if message.get("role") in kinds
        ]
        output = ModelOutput.from_content(_MODEL, str(candidate.content))
        if not task.get(MESSAGES):
            said.append(output.message)
        target = Target(_target_of(task) or "")
        more = {name: task[name] for name in self._columns if name in task}
        state = TaskState(
            model=ModelName(_MODEL), sample_id=0, epoch=1, messages=said, target=target,
            input=prompt if isinstance(prompt, str) else said[: len(asked)],
            choices=task.get("choices"), output=output, completed=True,
            metadata={**(task.get("metadata") or {}), **more},
        )  # fmt: skip
        return state, target

    def _verdict(self, score: Any) -> Verdict:
        """A score as a verdict; one that says nothing, or no number, is unknown."""
        if score is None:
            return Verdict.abstain("the scorer did not score it", failed_at="verifier")
        told = {
            name: printable(text, _SHOWN)
            for name in ("explanation", "reason")
            if (text := getattr(score, name, None))
        }
        if getattr(score, "reason", None) in _OF_SCORER:
            return Verdict.abstain(
                f"the scorer failed: {told['reason']}", failed_at="tool", evidence=told
            )
        scores = dict(self._numbers(score.value))
        known = {name: number for name, number in scores.items() if number is not None}
        main = scores.get(self._main) if self._main else (
            mean_of([*known.values()]) if known and len(known) == len(scores) else None
        )  # fmt: skip
        if main is None:
            return Verdict.abstain(
                f"the scorer gave no score: {printable(score.value, 200)}",
                failed_at="verifier", evidence=told,
            )  # fmt: skip
        named = known if isinstance(score.value, (Mapping, list, tuple)) else {}
        return Verdict.accept(main, scores=named, evidence=told)

    def _numbers(self, value: Any) -> Iterator[tuple[str, float | None]]:
        """The numbers of a value, by name; None for what is not known."""
        if isinstance(value, (list, tuple)):
            value = {f"score_{number}": each for number, each in enumerate(value)}
        if not isinstance(value, Mapping):
            yield "", self._number(value)
            return
        taken: dict[str, float | None] = {}
        for name, each in [*value.items()][:MOST_SCORES]:
            taken[score_name(str(name), taken)] = self._number(each)
        yield from taken.items()

    def _number(self, value: Any) -> float | None:
        if isinstance(value, str):
            word = value.strip().lower()
            if word in _NO_ANSWER:
                return self._no_answer
            if word in _WORDS:
                return _WORDS[word]
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None


def _target_of(task: Mapping[str, Any]) -> str | list[str] | None:
    """What the output is compared with; None if nobody says, or a part is missing."""
    target = task.get("target")
    if target is None:
        target = task.get("answer")
    if not isinstance(target, list):
        return None if target is None else str(target)
    return [str(each) for each in target] if target and None not in target else None


@contextmanager
def _offline(*, is_so: bool) -> Iterator[None]:
    """Have calls of models refused, in this task alone."""
    token = _is_offline.set(is_so)
    try:
        yield
    finally:
        _is_offline.reset(token)


def _watch_models() -> None:
    """See to it that Inspect calls no model where that was not declared."""
    from inspect_ai.model import Model

    generate = Model.generate
    if getattr(generate, "is_watched", False):
        return

    @wraps(generate)
    async def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        if _is_offline.get():
            raise ToolError(
                f"the scorer calls the model {self}; its verifier must declare network=True"
            )
        return await generate(self, *arguments, **named)

    watched.is_watched = True  # type: ignore[attr-defined]
    Model.generate = watched
