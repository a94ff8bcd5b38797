"""SkyRL: verifiers and ladders as environments of skyrl-gym, with a reward for every turn.

skyrl-gym is imported only when an environment is made.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, Unpack

from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Backend, Options, takes_options
from verifier_ladder.learners.readout import Readout
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

T = TypeVar("T")
_LOG = logging.getLogger("verifier_ladder")
_TOLD = "verifier_ladder"
"""Where an environment's extras have what `tell_phase` knows of its batch."""
_ADVICE = (
    "Give SkyRL's generator to verifier_ladder.learners.skyrl.tell_phase, or the rows a split "
    "('train', 'test'), or the environment evaluation=False if it only trains"
)


@takes_options
def environment(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float,
    clip: tuple[float, float] | None = None,
    base: type | None = None,
    each_turn: bool = False,
    **options: Unpack[Options],
) -> type:
    """Make an environment class for SkyRL; needs skyrl-gym.

    **Guarantees.** `step` answers within the deadline, and what verifiers or the base environment
    do never raises there: one environment that raises ends SkyRL's whole batch. Only a ladder
    that asks for a column that the dataset lacks raises, at the first step.

    **Evaluation.** SkyRL tells its generator what a batch is for, but not the environments:
    `tell_phase` does, and with it how many samples make a group. Without it the column `split`
    does, of its own or in `extra_info`, as SkyRL's own data preparation writes it.

    **Metadata.** Each step tells `unknown`, `pending`, `reason`, `feedback`, `turns`, `scores`,
    the score of each verifier, and as `base_reward` what the base environment would have given.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier. It reads the dataset's columns; `ground_truth` is that of
            `reward_spec`.
        on_abstain: What SkyRL is told where nothing is known; it has no way to leave a turn out.
            The metric `unknown` says how often that is.
        clip: Least and largest reward; see `Readout`.
        base: An environment class whose observations and end of the episode are kept, and whose
            reward is replaced. Without one, an episode is one turn.
        each_turn: Reward every turn on what was said and seen so far: with what the verdict says
            of that turn where it says something, on the scale of the reward rule, else with the
            whole reward. By default only the last turn is rewarded, and those before it get 0.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work.
    """
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    if each_turn and options.get("group_size") is not None:
        raise ConfigError("each_turn: turns are samples, and nobody knows how many; no group_size")
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    readout = Readout.complete("SkyRL", on_abstain, clip)
    parent: Any = base or BaseTextEnv

    class LadderEnv(parent):  # type: ignore[misc,unused-ignore]
        """Rewards with a verifier or a ladder."""

        def __init__(self, env_config: Any = None, extras: Any = None, **rest: Any) -> None:
            super().__init__(**({} if base is None else {
                "env_config": env_config, "extras": extras or {}, **rest
            }))  # fmt: skip
            self._fields = _fields(extras or {})
            self._batch: Mapping[str, Any] = (extras or {}).get(_TOLD) or {}
            self._prompt: Any = None
            self._messages: list[dict[str, Any]] = []
            self._rewards: list[Reward] = []

        def init(self, prompt: Any) -> Any:
            """Begin an episode; completions of one prompt form a group."""
            self._prompt = prompt
            self._messages, self._rewards = [], []
            return super().init(prompt)

        def step(self, action: str) -> dict[str, Any]:
            """Take one turn."""
            self._messages.append({"role": "assistant", "content": action})
            output = dict(_END if base is None else _safely(super().step, action))
            told = {"base_reward": output["reward"]} if base is not None else {}
            reward = None
            if each_turn or output["done"]:
                reward = self._reward(output["observations"])
                told |= _told(reward)
            self._messages += output["observations"]
            told_of = len(self._rewards) - 1 if each_turn else -1
            output["reward"] = (
                0.0 if reward is None
                else readout.value(_of_turn(reward, told_of, backend.attachment.ladder))
            )  # fmt: skip
            output["metadata"] = {**(output.get("metadata") or {}), **told}
            return output

        def _reward(self, observations: Sequence[Mapping[str, Any]]) -> Reward:
            said: Any = [*self._messages, *observations]
            if len(said) == 1:
                said = said[0]["content"]
            sample = backend.sample(
                said, self._fields, prompt=self._prompt,
                evaluation=self._batch.get("evaluation"),
            )  # fmt: skip
            size = None if each_turn else self._batch.get("group_size")
            self._rewards.append(backend.reward(sample, group_size=size))
            return self._rewards[-1]

        def get_metrics(self) -> dict[str, Any]:
            """Shares of the episode's rewards; SkyRL averages them."""
            count = max(1, len(self._rewards))
            return {
                **super().get_metrics(),
                "unknown": sum(r.value is None for r in self._rewards) / count,
                "pending": sum(r.pending for r in self._rewards) / count,
                **backend.attachment.alarms,
            }

    return LadderEnv


def tell_phase(generator: T) -> T:
    """Make a generator of SkyRL tell environments what it samples for; returns it.

    The trainer says of each batch whether it trains or evaluates, and how many samples a prompt
    has. The generator then hands it to the environments that it makes, in their extras.

    Args:
        generator: A generator, as `BasePPOExp.get_generator` makes it.
    """
    of_skyrl: Any = generator
    generate = of_skyrl.generate

    @wraps(generate)
    async def generate_and_tell(input_batch: Any, *arguments: Any, **options: Any) -> Any:
        return await generate(_with_phase(input_batch), *arguments, **options)

    of_skyrl.generate = generate_and_tell
    return generator


def _with_phase(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """A batch whose extras tell what is known of it."""
    metadata, extras = batch.get("batch_metadata"), batch.get("env_extras")
    if metadata is None or extras is None:
        return batch
    names = [one.instance_id for one in batch.get("trajectory_ids") or ()]
    sizes: list[int | None] = list(map(Counter(names).get, names)) or [None] * len(extras)
    evaluation = metadata.training_phase == "eval"
    told = [
        {**extra, _TOLD: {"evaluation": evaluation, "group_size": size}}
        for extra, size in zip(extras, sizes, strict=True)
    ]
    return {**batch, "env_extras": told}


_END: Mapping[str, Any] = {"observations": [], "reward": 0.0, "done": True, "metadata": {}}


def _safely(step: Any, action: str) -> Mapping[str, Any]:
    """A turn of the base environment; the end of the episode if it fails."""
    try:
        output: Mapping[str, Any] = step(action)
    except Exception as error:  # noqa: BLE001 - SkyRL would end the whole batch
        _LOG.warning("the environment failed, and its episode ends: %r", error)
        return {**_END, "metadata": {"failed": repr(error)}}
    return output


def _fields(extras: Mapping[str, Any]) -> dict[str, Any]:
    """The dataset's columns, and the ground truth under its own name."""
    extras = {name: value for name, value in extras.items() if name != _TOLD}
    spec = extras.get("reward_spec")
    truth = {"ground_truth": spec.get("ground_truth")} if isinstance(spec, Mapping) else {}
    extra = extras.get("extra_info")
    return {**(extra if isinstance(extra, Mapping) else {}), **extras, **truth}


def _of_turn(reward: Reward, turn: int, ladder: Ladder) -> Reward:
    """A reward with what is said of one turn as its value, if anything is."""
    score = next((one.score for one in reward.turns if one.turn == turn), None)
    if score is None or reward.value is None:
        return reward
    return reward._replace(value=ladder.reward.scale(score, sign=ladder.target.sign))


def _told(reward: Reward) -> dict[str, Any]:
    return {
        **reward.components, "unknown": reward.value is None, "pending": reward.pending,
        "reason": reward.reason, "feedback": reward.feedback,
        "turns": [turn.as_json() for turn in reward.turns], "scores": dict(reward.scores),
    }  # fmt: skip
