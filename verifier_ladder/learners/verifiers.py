"""verifiers: ladders as rewards of its tasks (0.4), and as functions of a `Rubric` (up to 0.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Adapter, Backend, Options, takes_options
from verifier_ladder.learners.messages import messages_of
from verifier_ladder.learners.readout import Readout
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

_ADVICE = (
    "Give the tasks' data a split ('train', 'test'), or the function evaluation=False if it only "
    "trains, and True in a program that evaluates"
)
_NOT_FIELDS = frozenset({"completion", "parser", "prompt", "resources", "state"})


@takes_options
def reward(
    verifier: Verifier | Ladder | str | Path,
    *,
    weight: float = 1.0,
    priority: int = 0,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    **options: Unpack[Options],
) -> TaskReward:
    """Make a reward for a task of verifiers 0.4: a class attribute, as `@vf.reward` makes one.

    **Guarantees.** It answers within the deadline, which must come before the task's own limit
    for scoring.

    **Metrics.** `NAME/unknown`, `NAME/pending`, the alarms, each named score, and what was said of
    each turn as `NAME/turn_0`, … Feedback has no place there; it is in the ledger.

    **Evaluation.** The library does not tell a reward what it is asked for: a field `split` of the
    task's data does, or `evaluation=True` in the program that evaluates.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier. It reads the fields of the task's data.
        weight: As for `@vf.reward`.
        priority: As for `@vf.reward`.
        on_abstain: What the task is told where nothing is known. None, the default, raises, which
            the library records as an error of the trace, and no reward.
        clip: Least and largest reward; see `Readout`.
        options: See `Options`; `name` is the reward's name.

    Raises:
        ConfigError: If the arguments can't work.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, answer: [1.0], name="check", columns=["answer"])
        >>> reward(check, weight=0.5).__name__
        'check'
    """
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    return TaskReward(backend, Readout(on_abstain, clip), weight, priority)


class TaskReward(Adapter):
    """A reward of a task; made by `reward`.

    An object, not a function: as an attribute of a class it is not bound, so that it serves as a
    method of a task and as a function that a configuration plugs in.
    """

    reward = True
    """What `@vf.reward` marks its functions with, as with the weight and the priority."""

    def __init__(
        self, backend: Backend, readout: Readout, weight: float = 1.0, priority: int = 0
    ) -> None:
        """Answer from a backend."""
        super().__init__(backend, readout)
        self.reward_priority, self._vf_weight = priority, weight

    async def __call__(self, task: Any, trace: Any) -> float:
        """Score a trace.

        Args:
            task: The task's data, whose fields verifiers read.
            trace: What the agent did; the messages after the prompt are the completion.

        Raises:
            VerifierError: If nothing is known, and no number stands for it.
            ConfigError: If the task lacks a field that a verifier reads.
        """
        said = _said(messages_of(trace.messages))
        group = trace.task.key or trace.task.hash or None
        prompt = messages_of(task.prompt)
        sample = self._backend.sample(
            said, task.model_dump(mode="json"), group=group, prompt=prompt
        )
        told = await self._backend.areward(sample)
        for name, number in (self._metrics(told) | self._parts(told)).items():
            trace.record_metric(name, number)
        return self._readout.number(told, self.__name__)

    def _parts(self, reward: Reward) -> dict[str, float]:
        """Its named scores, and what is said of single turns."""
        turns = {f"turn_{one.turn}": one.score for one in reward.turns if one.score is not None}
        return {f"{self.__name__}/{name}": n for name, n in {**reward.scores, **turns}.items()}


@takes_options
def rubric_function(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float,
    clip: tuple[float, float] | None = None,
    **options: Unpack[Options],
) -> Callable[..., Any]:
    """Make a reward function for a `Rubric` of verifiers 0.3.

    Args:
        verifier: As for `reward`; it reads `answer`, `info` and the dataset's other columns.
        on_abstain: What the rubric is told where nothing is known. It must be a number: a rubric
            makes 0 of every exception.
        clip: Least and largest reward; see `Readout`.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, answer: [1.0], name="check", columns=["answer"])
        >>> rubric_function(check, on_abstain=-1.0).__name__
        'check'
    """
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    readout = Readout.complete("Rubric", on_abstain, clip)

    async def function(prompt: Any, completion: Any, **fields: Any) -> float:
        sample = backend.sample(
            _said(messages_of(completion)),
            {name: value for name, value in fields.items() if name not in _NOT_FIELDS},
            prompt=messages_of(prompt),
        )  # fmt: skip
        return readout.number(await backend.areward(sample), backend.name)

    function.__name__ = backend.name
    return function


def _said(messages: Any) -> Any:
    """The completion: all from the first word of the assistant on, a single message as text."""
    if isinstance(messages, str):
        return messages
    roles = [m.get("role") if isinstance(m, Mapping) else None for m in messages]
    said = messages[roles.index("assistant") :] if "assistant" in roles else []
    is_text = len(said) == 1 and isinstance(said[0].get("content"), str)
    return said[0]["content"] if is_text else said
