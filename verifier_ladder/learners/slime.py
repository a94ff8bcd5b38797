"""slime: verifiers and ladders as the function that `--custom-rm-path` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from verifier_ladder.candidate import UNKNOWN_SIZE, Sample
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Adapter, Backend, Options, takes_options
from verifier_ladder.learners.messages import ENDS, without_ends
from verifier_ladder.learners.readout import Readout, extras_of
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

_ADVICE = (
    "Give the data sets of slime's --eval-config a custom_rm_path of their own, to a function "
    "made with evaluation=True, and this one evaluation=False, or give the rows' metadata a split "
    "('train', 'test')"
)


@takes_options
def custom_rm(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float,
    clip: tuple[float, float] | None = None,
    ends: Sequence[str] = ENDS,
    **options: Unpack[Options],
) -> CustomRm:
    """Make an `async` reward function for slime, for one sample or, with `--group-rm`, for many.

    **Guarantees.** It answers within the deadline, and what verifiers do never raises.

    **Metadata.** Where verdicts have feedback, turns or named scores, they stand in the sample's
    metadata under the function's name.

    **Evaluation.** slime does not tell a reward function what it is called for. Give the data sets
    of `--eval-config` a `custom_rm_path` of their own, to a function that was made with
    `evaluation=True`, or `metadata_overrides: {split: test}`.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier. It reads `label` and the fields of the sample's metadata.
        on_abstain: What slime is told where nothing is known. Such a sample is marked
            `remove_sample`, so that it has no part in the loss; but slime counts its number in
            the mean of its group.
        clip: Least and largest reward; see `Readout`.
        ends: Tokens that are cut off the end of a response, which slime decodes with them.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work. Later, from a call: if a field is missing.

    Example:
        >>> import asyncio
        >>> from types import SimpleNamespace
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, label: [1.0], name="check", columns=["label"],
        ...                 isolation="inline")
        >>> sample = SimpleNamespace(prompt="2 + 2 =", response="4", label="4", metadata={})
        >>> asyncio.run(custom_rm(check, on_abstain=0.0)(None, sample))
        1.0
    """
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    return CustomRm(backend, Readout.complete("slime", on_abstain, clip), ends)


class CustomRm(Adapter):
    """A reward function of slime; made by `custom_rm`."""

    def __init__(self, backend: Backend, readout: Readout, ends: Sequence[str] = ENDS) -> None:
        """Answer from a backend."""
        super().__init__(backend, readout)
        self._ends = ends

    async def __call__(
        self, args: Any, sample: Any, *, evaluation: bool | None = None, **_: Any
    ) -> Any:
        """Score one sample, or a list of them.

        Args:
            args: slime's arguments.
            sample: A sample or a list: a group with `--group-rm`, else the parts that one
                rollout was cut into.
            evaluation: Whether it evaluates the policy, for callers that know.

        Raises:
            ConfigError: If a field that a verifier reads is missing.
        """
        if getattr(args, "eval_interval", "unknown") is None:
            self._backend.attachment.evaluation.expect_none()
        if not isinstance(sample, list):
            made = self._sample(sample, evaluation=evaluation)
            reward = await self._backend.areward(made, group_size=_group_size(args, made))
            return self._told(sample, reward)
        made_of_all = [self._sample(one, evaluation=evaluation) for one in sample]
        if not getattr(args, "group_rm", True):
            made_of_all = [replace(made, group_size=UNKNOWN_SIZE) for made in made_of_all]
        rewards = await self._backend.arewards(made_of_all)
        pairs = zip(sample, rewards, strict=True)
        return [self._told(one, reward) for one, reward in pairs]

    def _sample(self, sample: Any, *, evaluation: bool | None) -> Sample:
        metadata = sample.metadata if isinstance(sample.metadata, Mapping) else {}
        fields = {**metadata, "label": sample.label, "prompt": sample.prompt}
        said = without_ends(sample.response, self._ends)
        return self._backend.sample(
            said, fields, prompt=sample.prompt, aside=metadata, evaluation=evaluation
        )  # Rollouts write into their metadata.

    def _told(self, sample: Any, reward: Reward) -> float | None:
        """The number; a sample of which nothing is known is taken out of the loss."""
        if reward.value is None:
            sample.remove_sample = True
        if reward.feedback or reward.turns or reward.scores:
            metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
            sample.metadata = {**metadata, self.__name__: extras_of(reward)}
        return self._readout.value(reward)

    def log(
        self,
        rollout_id: int,
        args: Any,
        samples: Sequence[Any],
        metrics: dict[str, Any] | None,
        seconds: float,
    ) -> bool:
        """Add `rollout/NAME/gaming_alarms` and `unanswered_alarms` to the metrics of a rollout.

        For `--custom-rollout-log-function-path`, whose signature it has.

        Returns:
            False: slime logs as it always does.
        """
        del rollout_id, args, samples, seconds
        if metrics is not None:
            for name, number in self._backend.attachment.alarms.items():
                metrics[f"rollout/{self.__name__}/{name}"] = number
        return False


def _group_size(args: Any, sample: Sample) -> int | None:
    """How many samples of a prompt slime draws, as its arguments say."""
    name = "n_samples_per_eval_prompt" if sample.evaluation else "n_samples_per_prompt"
    size = getattr(args, name, None)
    return size if isinstance(size, int) and size > 0 else None
