"""Rubrics of `verifiers`: the reward functions of its environments as a verifier of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, isawaitable, signature
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.asynchronous import AsyncVerifier
from verifier_ladder.candidate import Candidate
from verifier_ladder.command import set_attributes
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.media import restored
from verifier_ladder.signature import MESSAGES
from verifier_ladder.verdict import Verdict, score_name
from verifier_ladder.verifiers import failure

_COLUMNS = ("prompt", "answer", "info", MESSAGES)


class RubricVerifier(AsyncVerifier):
    """The functions of a `Rubric` of verifiers 0.3, individual ones and those of groups.

    Its score is the rubric's reward, the weighted sum of its functions; each function's own number
    is one of `scores`. What a function raises is unknown: the library itself would make 0 of it.
    Where content brings that about, so is its reward, which suits a policy that would get less: a
    rubric that declares a `control` has such candidates compared with it, and rejected if that
    is judged.

    A rubric with functions of groups needs `scope="group"`.

    Example:
        >>> def exact(completion, answer):
        ...     return float(completion[-1]["content"] == answer)
        >>> def make():
        ...     import verifiers.legacy as vf
        ...     return vf.Rubric(funcs=[exact])
        >>> RubricVerifier(make, name="exact", version="1")
        <verifier exact 1 (fast)>
    """

    @checked(name=1, version=1)
    def __init__(
        self,
        make: Callable[[], Any],
        *,
        name: str,
        version: str,
        columns: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the rubric; it is made in each worker.

        Args:
            make: Gives the rubric, such as `lambda: vf.load_environment("gsm8k").rubric`.
            name: Name of the verifier.
            version: Raise it when results may change, such as with a new release of the
                environment.
            columns: Columns of the dataset that its functions read, beside `prompt`, `answer` and
                `info`.
            settings: What affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `scope`, `tier` or `secrets`.

        Raises:
            ConfigError: If an attribute is unknown.
        """
        self.name, self.version, self._make = name, version, make
        self.task_fields = tuple(dict.fromkeys((*_COLUMNS, *columns)))
        set_attributes(self, attributes)
        super().__init__(**(settings or {}))

    def _depends_on(self) -> object:
        return None

    def setup(self) -> None:
        """Make the rubric.

        Raises:
            ConfigError: If verifiers is not installed, or the rubric compares groups and that was
                not declared.
        """
        try:
            from verifiers.legacy import State
        except ImportError:
            raise ConfigError(
                "a rubric needs the library verifiers: pip install 'verifiers>=0.3,<0.4'"
            ) from None
        made = self._make()
        self._state, self._rubrics = State, list(getattr(made, "rubrics", None) or [made])
        if made.has_group_rewards and self.scope != "group":
            raise ConfigError(
                f"the rubric of verifier {self.name} has functions that compare the members of a "
                'group: declare scope="group"'
            )

    async def verify_one(self, candidate: Candidate) -> Verdict:
        """Score one completion."""
        verdict = (await self._judged([candidate]))[0]
        return verdict if self.control is not None else replace(verdict, evidence={})

    async def verify_group(self, members: Sequence[Candidate]) -> list[Verdict]:
        """Score the completions of a group; a failure is unknown for those that it concerns."""
        return [replace(verdict, evidence={}) for verdict in await self._judged(members)]

    async def _judged(self, members: Sequence[Candidate]) -> list[Verdict]:
        states = [self._begun(member) for member in members]
        columns: dict[str, list[float | BaseException]] = {}
        weights: list[float] = []
        for rubric in self._rubrics:
            for function, weight in zip(rubric.funcs, rubric.weights, strict=True):
                columns[score_name(_name(function), columns)] = await _told(
                    rubric, function, states
                )
                weights.append(weight)
        rows = zip(*columns.values(), strict=True)
        return [_verdict(list(columns), row, weights) for row in rows]

    def _begun(self, candidate: Candidate) -> Any:
        """A completion as the state of a rollout that has ended."""
        task = {name: restored(value) for name, value in (candidate.task or {}).items()}
        said = task.pop(MESSAGES, None) or [{"role": "assistant", "content": candidate.content}]
        prompt = task.get("prompt") or []
        if isinstance(prompt, str):
            prompt = [{"role": "user", "content": prompt}]
        row = {"answer": "", "info": {}, "example_id": 0, **task, "prompt": prompt}
        return self._state(input=row, completion=said, trajectory=[], **row)


async def _told(
    rubric: Any, function: Callable[..., Any], states: Sequence[Any]
) -> list[float | BaseException]:
    """What a function says of each state, or what it raised."""
    if rubric._is_group_func(function):  # noqa: SLF001 - the library has no public word for it
        numbers = await _called(function, rubric.group_score_objects(list(states)))
        if len(numbers) != len(states):
            raise VerifierError(
                f"{_name(function)} returned {len(numbers)} numbers for {len(states)} completions"
            )
        return list(numbers)
    calls = [_called(function, rubric.score_objects(state)) for state in states]
    return list(await asyncio.gather(*calls, return_exceptions=True))


async def _called(function: Callable[..., Any], objects: Mapping[str, Any]) -> Any:
    """Call a function with what it has parameters for."""
    wanted = signature(function).parameters
    takes_all = any(one.kind is Parameter.VAR_KEYWORD for one in wanted.values())
    given = {name: value for name, value in objects.items() if takes_all or name in wanted}
    answer = function(**given)
    return await answer if isawaitable(answer) else answer


def _verdict(
    names: Sequence[str], told: Sequence[float | BaseException], weights: Sequence[float]
) -> Verdict:
    error = next((one for one in told if isinstance(one, BaseException)), None)
    if error is not None:
        return failure(error)
    try:
        numbers = [float(one) for one in told]  # type: ignore[arg-type]
        total = sum(number * weight for number, weight in zip(numbers, weights, strict=True))
        return Verdict.accept(total, scores=dict(zip(names, numbers, strict=True)))
    except Exception as wrong:  # noqa: BLE001 - such as None, or NaN
        return failure(wrong)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
