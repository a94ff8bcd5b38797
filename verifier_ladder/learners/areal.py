"""AReaL: verifiers and ladders as the `reward_fn` of its workflows."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

from verifier_ladder.candidate import UNKNOWN_SIZE, Sample
from verifier_ladder.errors import VerifierError
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Adapter, Backend, Options, takes_options
from verifier_ladder.learners.messages import ENDS, without_ends
from verifier_ladder.learners.readout import Readout
from verifier_ladder.learners.tries import Tries, note
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

_DEADLINE = 10.0
"""AReaL gives a call 15 seconds, and then makes a 0 of it."""
_TRIES = 4
"""How often AReaL asks about a rollout in all, while nothing is known of it."""
_ADVICE = (
    "Give the workflow that evaluates a function of its own, made with evaluation=True, and this "
    "one evaluation=False, or give the rows a split ('train', 'test')"
)


@takes_options
def reward_fn(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    ends: Sequence[str] = ENDS,
    **options: Unpack[Options],
) -> RewardFn:
    """Make a `reward_fn` for AReaL's workflows, such as `RLVRWorkflow`.

    **Guarantees.** It answers within the deadline, 10 seconds if nothing is said; AReaL's own
    limit of 15 would make a 0 of what is not known yet.

    **Evaluation.** Give the workflow that evaluates a function of its own, made with
    `evaluation=True`, or its data a column `split`.

    **Metrics.** `NAME/unknown`, `NAME/pending`, `NAME/gaming_alarms` and `NAME/unanswered_alarms`
    come to AReaL's `stats_tracker` with each reward, in the scope of the rollout.

    **Processes.** AReaL sends it to other processes with every call. There the ledger is opened
    once, and all record one run; give `ledger` a path, so that they share it.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier. It reads the columns of the dataset.
        on_abstain: What AReaL is told where nothing is known. None, the default, raises; AReaL
            tries again three times, and then drops the sample.
        clip: Least and largest reward; see `Readout`.
        ends: Tokens that are cut off the end of a completion, which AReaL decodes with them.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work. Later, from a call: if a column is missing.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, answer: [1.0], name="check", columns=["answer"],
        ...                 isolation="inline")
        >>> reward_fn(check)("2 + 2 =", "4", [1], [2], answer="4")
        1.0
    """
    options.setdefault("deadline", _DEADLINE)
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    return RewardFn(backend, Readout(on_abstain, clip), ends)


class RewardFn(Adapter):
    """A reward function of AReaL; made by `reward_fn`."""

    def __init__(self, backend: Backend, readout: Readout, ends: Sequence[str] = ENDS) -> None:
        """Answer from a backend."""
        super().__init__(backend, readout)
        self._ends = ends
        self._tries = Tries(most=_TRIES)

    def __call__(
        self, prompt: str, completions: str, prompt_ids: Any, completion_ids: Any, **row: Any
    ) -> float:
        """Score one completion.

        Args:
            prompt: The prompt as text; completions of one prompt and row form a group.
            completions: The completion, one in spite of its name.
            prompt_ids: Token ids, not read.
            completion_ids: Token ids, for functions that read them.
            row: The dataset's columns.

        Raises:
            VerifierError: If nothing is known, and no number stands for it.
            ConfigError: If a column that a verifier reads is missing.
        """
        del prompt_ids
        fields = {**row, "prompt": prompt, "completion_ids": completion_ids}
        said = without_ends(completions, self._ends)
        sample = self._backend.sample(said, fields, prompt=prompt)
        key = _key(sample, completions, completion_ids)
        is_another = self._tries.is_another(key)
        (reward,) = self._again(sample) if is_another else self._backend.rewards([sample])
        try:
            number = self._readout.number(reward, self.__name__)
        except VerifierError as error:
            raise self._tries.unknown(key, str(error)) from None
        known = (self._tries.token, key) if is_another else None
        if known:
            note(*known, is_known=True)
        scope = "eval-rollout" if sample.evaluation else "rollout"
        return _Told(number, scope, self._metrics(reward), known)

    def _again(self, sample: Sample) -> list[Reward]:
        """Score another try by itself: its rollout has its place in the group already.

        A sample keeps the reward that it was recorded with, so that a try that finds more is
        another sample; AReaL tells nothing by which this could be known before.
        """
        return self._backend.attachment.score([replace(sample, group_size=UNKNOWN_SIZE)])


def _key(sample: Sample, completion: str, completion_ids: Any) -> str:
    """What AReaL hands over alike in every try."""
    told = repr((sample.evaluation, sample.group, completion, completion_ids))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


class _Told(float):
    """A reward, with metrics that reach AReaL's process when it does.

    AReaL calls reward functions in processes of their own, whose metrics it does not collect;
    what it takes from there is a number.
    """

    scope: str
    metrics: Mapping[str, float]
    known: tuple[str, str] | None
    """The try after others that has found it, for `note`."""

    def __new__(
        cls,
        value: float,
        scope: str,
        metrics: Mapping[str, float],
        known: tuple[str, str] | None = None,
    ) -> Self:
        made = super().__new__(cls, value)
        made.scope, made.metrics, made.known = scope, metrics, known
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (float(self), self.scope, self.metrics, self.known)


def _arrived(
    value: float, scope: str, metrics: Mapping[str, float], known: tuple[str, str] | None
) -> float:
    """The number, once what came with it is noted: its metrics by AReaL, its end as a try."""
    if known is not None:
        note(*known, is_known=True)
    tracker: Any = sys.modules.get("areal.utils.stats_tracker")
    if tracker is not None:
        with suppress(Exception):  # An error here would break AReaL's pool of processes.
            tracker.get(scope).scalar(**metrics)
    return value
