"""TRL: verifiers and ladders as reward functions of its trainers.

Works with `GRPOTrainer`, `RLOOTrainer` and the other trainers that take `reward_funcs`. TRL
itself is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifier_ladder.budget import Budget
from verifier_ladder.candidate import Candidate, Sample, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import canonical_json
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.attachment import Attachment
from verifier_ladder.learners.messages import group_of, text_of, turns_of
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.signature import LIVE, MESSAGES
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger


def reward_function(
    verifier: Verifier | Ladder | str | Path,
    *,
    ledger: str | Path | Ledger | None = None,
    deadline: float | str | None = 30.0,
    campaign: Campaign | str | None = None,
    name: str | None = None,
    budget: Budget | None = None,
    run: Run | str | None = None,
    on_abstain: float | None = None,
    asynchronous: bool = False,
) -> RewardFunction:
    """Make a reward function for TRL's trainers.

    **Guarantees.** It returns one number or None per completion, in order, within the deadline.
    A verifier that raises, crashes, hangs or answers nonsense gives None for its own completion,
    which TRL leaves out of the group. The same completion with the same columns is verified once.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier.
        ledger: Where verdicts are kept: a path or an address. Without one they are kept in
            memory until the process ends.
        deadline: Seconds one call may take; None waits for the fast tier however long it takes.
        campaign: Name in the ledger, by default the ladder's, or the verifier's with its version;
            or an open campaign.
        name: What TRL calls the function in its logs; the verifier's name by default.
        budget: Caps, as in `Campaign.open`, such as `{"simulation": "2 h"}`.
        run: Name of the training run, or a `Run` with its report card; by default the time and
            number of the process, so that a script that is started again is another run.
        on_abstain: What TRL is told where nothing is known. None, the default, masks the
            completion; a number trains on it.
        asynchronous: Make it an `async` function, which TRL runs beside other async ones.

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
    if on_abstain is not None and not isfinite(on_abstain):
        raise ConfigError(f"on_abstain={on_abstain!r} must be finite; None masks the completion")
    attachment = Attachment(
        verifier, ledger=ledger, deadline=deadline, campaign=campaign, name=name, budget=budget,
        run=run,
    )  # fmt: skip
    kind = AsyncRewardFunction if asynchronous else RewardFunction
    return kind(attachment, on_abstain)


class RewardFunction:
    """A reward function of TRL; made by `reward_function`.

    **Threads.** May be called from several threads at once.

    **Processes.** Can be pickled and copied; a copy opens the ledger anew.
    """

    def __init__(self, attachment: Attachment, on_abstain: float | None = None) -> None:
        """Answer from an attachment."""
        self.__name__ = attachment.name
        self._attachment = attachment
        self._on_abstain = on_abstain

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
            prompts: One per completion; completions of the same prompt form a group.
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
        samples = self._samples(prompts, completions, completion_ids, trainer_state, columns)
        rewards = self._attachment.score(samples) if samples else []
        self._log(rewards, log_extra, log_metric)
        return self._values(rewards)

    @property
    def campaign(self) -> Campaign:
        """The campaign it scores in; opened by the first use."""
        return self._attachment.campaign

    def close(self) -> None:
        """Close the campaign now instead of at the end of the process; later calls reopen it."""
        self._attachment.close()

    def _values(self, rewards: Sequence[Reward]) -> list[float | None]:
        return [self._on_abstain if r.value is None else r.value for r in rewards]

    def _samples(
        self,
        prompts: Sequence[Any] | None,
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None,
        trainer_state: Any,
        columns: Mapping[str, Any],
    ) -> list[Sample]:
        count = len(completions)
        given = {**columns, "prompt": prompts, "completion_ids": completion_ids}
        wanted = self._wanted(given, count)
        if prompts is not None:
            _same_length("prompts", prompts, count)
        groups = [group_of(prompt) for prompt in prompts] if prompts is not None else [""] * count
        step = getattr(trainer_state, "global_step", None)
        places = range(-1, -1) if step is None else self._attachment.places(step, count)
        return [
            Sample(
                self._candidate(completion, {name: values[i] for name, values in wanted.items()}),
                step=-1 if step is None else step,
                position=-1 if step is None else places[i],
                group=groups[i], learner_version="" if step is None else f"step {step}",
            )
            for i, completion in enumerate(completions)
        ]  # fmt: skip

    def _wanted(self, given: Mapping[str, Any], count: int) -> dict[str, Sequence[Any]]:
        """The columns that verifiers read, checked; other columns never reach a key."""
        fields, ladder = self._attachment.task_fields, self._attachment.ladder
        everything = [name for name in given if name not in LIVE and given[name] is not None]
        names = everything if fields is None else [name for name in fields if name != MESSAGES]
        needed = {n for v in ladder.verifiers for n in getattr(v, "columns", ())}
        found: dict[str, Sequence[Any]] = {}
        for name in names:
            values = given.get(name)
            if values is not None:
                found[name] = _keyable(name, _same_length(name, values, count))
            elif name in needed:
                raise ConfigError(
                    f"{self.__name__} reads the column {name!r}, which the trainer does not give; "
                    f"it gives {', '.join(sorted(everything)) or 'none'}"
                )
        return found

    def _candidate(self, completion: Any, task: dict[str, Any]) -> Candidate:
        ladder = self._attachment.ladder
        turns: tuple[Turn, ...] = ()
        if not isinstance(completion, str):
            if any(MESSAGES in (v.task_fields or ()) for v in ladder.verifiers):
                task[MESSAGES] = completion
            if any(v.reads_turns for v in ladder.verifiers):
                turns = turns_of(completion)
        return Candidate(ladder.kind, text_of(completion), task or None, turns)

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
        verifiers = self._attachment.ladder.verifiers
        parts = {
            v.name: [r.components.get(v.name) for r in rewards]
            for v in (verifiers if len(verifiers) > 1 else ())
        }
        if log_metric is not None:
            unknown = sum(r.value is None for r in rewards)
            log_metric(f"{name}/unknown", unknown / len(rewards))
            log_metric(f"{name}/pending", sum(r.pending for r in rewards) / len(rewards))
            for part, scores in parts.items():
                known = [score for score in scores if score is not None]
                if known:
                    log_metric(f"{name}/{part}", sum(known) / len(known))
        if log_extra is not None:
            log_extra(f"{name}/reason", [r.reason for r in rewards])
            for part, scores in parts.items():
                log_extra(f"{name}/{part}", scores)


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
        samples = self._samples(prompts, completions, completion_ids, trainer_state, columns)
        rewards = await self._attachment.ascore(samples) if samples else []
        self._log(rewards, log_extra, log_metric)
        return self._values(rewards)


def _same_length(name: str, values: Any, count: int) -> Sequence[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ConfigError(
            f"{name} must be a list with one value per completion, not {type(values).__name__}"
        )
    if len(values) != count:
        raise ConfigError(f"{name} has {len(values)} values for {count} completions")
    return values


def _keyable(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """Refuse what could not be part of a key here, where the column's name is known."""
    try:
        canonical_json(values)
    except ConfigError as error:
        raise ConfigError(f"column {name!r}: {error}") from None
    return values
