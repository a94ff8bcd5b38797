"""TRL: verifiers and ladders as reward functions of its trainers.

Works with `GRPOTrainer`, `RLOOTrainer` and the other trainers that take `reward_funcs`. TRL
itself is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakValueDictionary

from verifier_ladder.candidate import Sample
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Adapter, Backend, Options, takes_options
from verifier_ladder.learners.reader import same_length
from verifier_ladder.learners.readout import Readout, extras_of
from verifier_ladder.media import with_images
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign

_ADVICE = (
    "Give the trainer callbacks=[reward.callback], or the rows a split ('train', 'test'), or the "
    "function evaluation=False if it only trains"
)


@takes_options
def reward_function(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    asynchronous: bool = False,
    **options: Unpack[Options],
) -> RewardFunction:
    """Make a reward function for TRL's trainers.

    **Guarantees.** It returns one number or None per completion, in order, within the deadline.
    A verifier that raises, crashes, hangs or answers nonsense gives None for its own completion,
    which TRL leaves out of the group. The same completion with the same columns is verified once.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier.
        on_abstain: What TRL is told where nothing is known. None, the default, masks the
            completion; a number trains on it.
        clip: Least and largest reward, such as `(-5.0, 5.0)`. Rewards that were corrected after a
            random draw leave the range of the reward rule; left out, every number passes.
        asynchronous: Make it an `async` function, which TRL runs beside other async ones.
        options: See `Options`. Whether samples evaluate the policy TRL shows by itself, as its
            `model.training`.

    Raises:
        ConfigError: If the arguments can't work. Later, from a call: if a column is missing, has
            the wrong length or can't be keyed.

    Example:
        >>> import verifier_ladder as vl
        >>> def accuracy(completions, answer):
        ...     return [float(c == a) for c, a in zip(completions, answer)]
        >>> reward = reward_function(vl.wrap(accuracy, version="1", columns=["answer"]))
        >>> reward.__name__
        'accuracy'
    """
    backend, readout = Backend.of(verifier, advice=_ADVICE, **options), Readout(on_abstain, clip)
    kind = AsyncRewardFunction if asynchronous else RewardFunction
    return kind(backend, readout)


class RewardFunction(Adapter):
    """A reward function of TRL; made by `reward_function`.

    **Threads.** May be called from several threads at once.

    **Processes.** Can be pickled and copied; a copy opens the ledger anew.
    """

    def __init__(self, backend: Backend, readout: Readout) -> None:
        """Answer from a backend."""
        super().__init__(backend, readout)
        self._mode = TrainerMode()

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        *,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> Any:
        """Score completions as TRL asks.

        Args:
            prompts: One per completion; completions of the same prompt and task form a group.
            completions: Text, or lists of chat messages.
            completion_ids: Token ids, for functions that read them.
            trainer_state: Its `global_step` is the samples' step and the learner's version.
            log_extra: Takes a column for TRL's table of completions.
            log_metric: Takes a number for TRL's logs.
            columns: The dataset's other columns.

        Returns:
            One number, or None where nothing is known, per completion.

        Raises:
            ConfigError: If an argument has the wrong form; the message names it.
        """
        columns = {**columns, "prompt": prompts, "completion_ids": completion_ids}
        samples = self._samples(completions, columns, trainer_state, log_metric)
        rewards = self._backend.rewards(samples)
        self._log(rewards, log_extra, log_metric)
        return self._values(rewards)

    @property
    def callback(self) -> Any:
        """For `callbacks=[…]` of a trainer that gives reward functions no `log_metric`.

        Such a trainer, as TRL's experimental `SDPOTrainer`, does not show whether it trains or
        evaluates; the callback does. `GRPOTrainer` and `RLOOTrainer` need none.
        """
        return self._mode.callback()

    @property
    def campaign(self) -> Campaign:
        """The campaign it scores in; opened by the first use."""
        return self._backend.campaign

    def _values(self, rewards: Sequence[Reward]) -> list[float | None]:
        return [self._readout.value(reward) for reward in rewards]

    def _samples(
        self, completions: Sequence[Any], columns: Mapping[str, Any], state: Any, log_metric: Any
    ) -> list[Sample]:
        if state is None:  # Called by hand, or by a trainer that has no evaluation.
            self._backend.attachment.evaluation.expect_none()
        prompts = columns["prompt"]
        if prompts is not None:
            prompts = _shown(same_length("prompts", prompts, len(completions)), columns)
        return self._backend.samples(
            completions, columns, step=getattr(state, "global_step", None), prompts=prompts,
            aside=_of_rollouts(columns, log_metric),
            evaluation=self._mode.is_evaluation(state, log_metric),
        )  # fmt: skip

    def _log(
        self,
        rewards: Sequence[Reward],
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> None:
        """Offer TRL what a single number can't tell: who said what, and what is not known."""
        if not rewards:
            return
        name = self.__name__
        verifiers = self._backend.attachment.ladder.verifiers
        parts = {
            v.name: [r.components.get(v.name) for r in rewards]
            for v in (verifiers if len(verifiers) > 1 else ())
        }
        if log_metric is not None:
            unknown = sum(r.value is None for r in rewards)
            log_metric(f"{name}/unknown", unknown / len(rewards))
            log_metric(f"{name}/pending", sum(r.pending for r in rewards) / len(rewards))
            for kind, count in self._backend.attachment.alarms.items():
                log_metric(f"{name}/{kind}", count)
            for part, scores in parts.items():
                known = [score for score in scores if score is not None]
                if known:
                    log_metric(f"{name}/{part}", sum(known) / len(known))
            for part in dict.fromkeys(part for r in rewards for part in r.scores):
                numbers = [r.scores[part] for r in rewards if part in r.scores]
                log_metric(f"{name}/{part}", sum(numbers) / len(numbers))
        if log_extra is not None:
            log_extra(f"{name}/reason", [r.reason for r in rewards])
            for column in ("feedback", "turns", "scores"):
                log_extra(f"{name}/{column}", [extras_of(r)[column] for r in rewards])
            for part, scores in parts.items():
                log_extra(f"{name}/{part}", scores)


class TrainerMode:
    """Whether a trainer trains or evaluates at the moment: what TRL itself goes by.

    **Pickling.** A copy knows no trainer: another process has its own.
    """

    def __init__(self) -> None:
        """Know no trainer yet."""
        self._models: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def is_evaluation(self, state: Any, log_metric: Any) -> bool | None:
        """Whether the call is of an evaluation; None where nobody tells.

        Args:
            state: The trainer's state.
            log_metric: The trainer's method, if it gives one.
        """
        model = getattr(getattr(log_metric, "__self__", None), "model", None)
        if model is None and state is not None:
            model = self._models.get(id(state))
        training = getattr(model, "training", None)
        return not training if isinstance(training, bool) else None

    def callback(self) -> Any:
        """A callback that notes the model of whatever trainer it is given to."""
        from transformers import TrainerCallback

        models = self._models

        class NoteModel(TrainerCallback):  # type: ignore[misc,unused-ignore]
            """Notes a trainer's model by its state."""

            def on_init_end(
                self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
            ) -> None:
                """Note it when the trainer is made."""
                del args, control
                if model is not None:
                    models[id(state)] = model

            on_train_begin = on_step_begin = on_init_end

        return NoteModel()

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the trainer."""
        return TrainerMode, ()


def _shown(prompts: Sequence[Any], columns: Mapping[str, Any]) -> Sequence[Any]:
    """The prompts with the images that stand in a column beside them."""
    images = next((columns[n] for n in ("images", "image") if columns.get(n) is not None), None)
    if images is None or len(images) != len(prompts):
        return prompts
    return list(map(with_images, prompts, images))


def _of_rollouts(columns: Mapping[str, Any], log_metric: Any) -> set[str]:
    """The columns that a trainer's `rollout_func` gives of each completion."""
    trainer = getattr(log_metric, "__self__", None)
    if getattr(trainer, "rollout_func", None) is None:
        return set()
    names = getattr(getattr(trainer, "train_dataset", None), "column_names", None)
    return set(columns).difference(names or ())


class AsyncRewardFunction(RewardFunction):
    """The same as an `async` function: TRL runs several of them at once."""

    async def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        *,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Score completions as TRL asks; see `RewardFunction`."""
        columns = {**columns, "prompt": prompts, "completion_ids": completion_ids}
        samples = self._samples(completions, columns, trainer_state, log_metric)
        rewards = await self._backend.arewards(samples)
        self._log(rewards, log_extra, log_metric)
        return self._values(rewards)
