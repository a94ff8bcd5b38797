"""verl: verifiers and ladders as its `compute_score` and as its reward manager.

verl loads both from a file of yours, whose path its configuration names. It is imported only when
a reward manager or a dataset class is made.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any, TypeVar, Unpack

from verifier_ladder.arguments import options_checked
from verifier_ladder.candidate import Sample
from verifier_ladder.function import WRAPPED, RewardFunctionVerifier
from verifier_ladder.function import wrap as wrap_function
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Backend, Options, takes_options
from verifier_ladder.learners.evaluation import evaluates
from verifier_ladder.learners.messages import group_of
from verifier_ladder.learners.readout import Readout, extras_of
from verifier_ladder.reward import Reward
from verifier_ladder.signature import is_async
from verifier_ladder.verifiers import Verifier

T = TypeVar("T")
_LOG = logging.getLogger("verifier_ladder")
_FIELDS = ("data_source", "ground_truth")
_ADVICE = (
    "Make verl's data.custom_cls with verifier_ladder.learners.verl.dataset(), or give the rows a "
    "split ('train', 'test') in extra_info, or the function evaluation=False if it only trains"
)


@takes_options
def compute_score(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    asynchronous: bool = True,
    **options: Unpack[Options],
) -> Callable[..., Any]:
    """Make a `compute_score` for verl's reward loop.

    **Guarantees.** It answers within the deadline with a dictionary that has the same flat keys
    for every sample: `score`, `unknown`, `pending`, `reason`, `gaming_alarms`,
    `unanswered_alarms`, and with several verifiers the score of each, NaN where it was not asked.
    `feedback`, `process` (the mean of what was said of turns, or NaN), and as JSON `turns` and
    `scores` come with it as extras: the reward loop has one number per sample. Whoever makes
    token-level rewards himself finds them in `verifier_ladder.learners.tensors.token_rewards`.

    Args:
        verifier: A verifier such as `wrap(…)`, a ladder, a ladder's TOML file, or the name of a
            registered verifier.
        on_abstain: What verl is told where nothing is known. None, the default, raises: verl has
            no mask, takes NaN for a number, and would train on it. With a number, the key
            `unknown` says which samples it stands for.
        clip: Least and largest score; see `Readout`.
        asynchronous: An `async` function, as the reward loop likes it; False for a plain one.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work.

    Example:
        >>> import asyncio
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, ground_truth: [1.0], name="yes",
        ...                 columns=["ground_truth"], isolation="inline")
        >>> score = compute_score(check)
        >>> asyncio.run(score("maths", "4", "4", {}))["score"]
        1.0
    """
    scorer = _Scorer(verifier, Readout(on_abstain, clip), options)

    async def ascore(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Any = None, **_: Any
    ) -> dict[str, Any]:
        return await scorer.ascore(data_source, solution_str, ground_truth, extra_info)

    def score(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Any = None, **_: Any
    ) -> dict[str, Any]:
        return scorer.score(data_source, solution_str, ground_truth, extra_info)

    # verl asks for a coroutine function, which an object with an async __call__ is not.
    return ascore if asynchronous else score


@takes_options
def reward_manager(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    register: str | None = None,
    **options: Unpack[Options],
) -> type:
    """Make a reward manager class for verl's reward loop; needs verl.

    Beside what `compute_score` does, it scores all samples that a worker is given at once in one
    call, and files completions of one prompt under one group. It knows the response's tokens:
    where a verdict says of steps where they stand, `turns` has their `tokens` as well, the first
    one and the one after the last.

    **Validation.** verl tells a reward manager only of whole batches that they validate, which its
    agent loop never hands on. There the row tells: its `extra_info` has what `dataset` puts there,
    or a `split` such as "test". Rows without either count as training, which is told in the log
    unless verl's configuration never validates.

    **Workers.** verl hands each sample to any of its reward workers. Advantages compare those of
    one worker, so they need `reward.num_workers=1`, or a server that all workers ask.

    Args:
        verifier: As for `compute_score`.
        on_abstain: As for `compute_score`.
        clip: As for `compute_score`.
        register: Name in verl's registry; without one, verl loads the class from your file
            (`reward.reward_manager.source=importlib`).
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work.
    """
    from verl.experimental.reward_loop.reward_manager import register as register_manager
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

    scorer = _Scorer(verifier, Readout(on_abstain, clip), options)

    class LadderRewardManager(RewardManagerBase):  # type: ignore[misc,unused-ignore]
        """Scores with a verifier or a ladder."""

        def __init__(self, config: Any, tokenizer: Any, compute_score: Any, **_: Any) -> None:
            super().__init__(config, tokenizer, compute_score)
            self._sizes = {kind: _group_size(config, validates=kind) for kind in (False, True)}
            scorer.look(config)

        async def run_single(self, data: Any) -> dict[str, Any]:
            """Score one sample; the others of its batch are asked for at the same moment."""
            item = data[-1]  # Of several sequences verl rewards the last.
            told = await scorer.ascore_item(
                _Response(item, self.tokenizer), item.non_tensor_batch,
                validates=_validates(data), group_sizes=self._sizes,
            )  # fmt: skip
            return {"reward_score": told["score"], "reward_extra_info": told}

    if register is not None:
        register_manager(register)(LadderRewardManager)
    return LadderRewardManager


def dataset(base: type | None = None) -> type:
    """Make a dataset class for verl that tells of each row whether it validates; needs verl.

    verl makes one dataset of `data.train_files` and one of `data.val_files`, and tells a reward
    function of neither. Named as `data.custom_cls`, this one puts `validate` into the `extra_info`
    of its rows, which reaches `compute_score` and reward managers in all of verl's trainers.

    Args:
        base: A dataset class of yours to build on; verl's `RLHFDataset` by default.
    """
    parent: Any = base
    if parent is None:
        from verl.utils.dataset.rl_dataset import RLHFDataset

        parent = RLHFDataset

    class LadderDataset(parent):  # type: ignore[misc,unused-ignore]
        """Tells of each row whether it validates."""

        def __init__(self, data_files: Any, tokenizer: Any, config: Any, **rest: Any) -> None:
            self._validates = _of_validation(data_files, config)
            super().__init__(data_files=data_files, tokenizer=tokenizer, config=config, **rest)

        def __getitem__(self, item: Any) -> Any:
            row = super().__getitem__(item)
            if self._validates is not None:
                extra = row.get("extra_info")
                row["extra_info"] = {**(extra or {}), "validate": self._validates}
            return row

    return LadderDataset


@options_checked(*WRAPPED, "batch")
def wrap(
    compute_score: Callable[..., Any],
    *,
    version: str | None = None,
    extra_info: Sequence[str] = (),
    **options: Any,
) -> RewardFunctionVerifier:
    """Make a verifier of an existing `compute_score`, unchanged.

    Args:
        compute_score: Takes `data_source`, `solution_str`, `ground_truth` and `extra_info`, and
            returns a number, or a dictionary with `score`. It may be async.
        version: Raise it when results may change. Without one, a digest of the source is it, as
            for `vl.verifier`.
        extra_info: The keys of `extra_info` that it reads. Only these reach it; like the data
            source and the ground truth they become part of what a verdict is filed under.
        options: As for `vl.wrap`, such as `timeout`.

    Raises:
        ConfigError: If an option is unknown.

    Example:
        >>> def exact(data_source, solution_str, ground_truth, extra_info=None):
        ...     return float(solution_str == ground_truth)
        >>> wrap(exact).name
        'exact'
    """

    def calls(completions: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> list[Any]:
        return [
            compute_score(
                data_source=columns["data_source"][i], solution_str=completion,
                ground_truth=columns["ground_truth"][i],
                extra_info={name: columns[name][i] for name in extra_info},
            )
            for i, completion in enumerate(completions)
        ]  # fmt: skip

    def judged(completions: Sequence[str], **columns: Sequence[Any]) -> list[Any]:
        return [_number(answer) for answer in calls(completions, columns)]

    async def ajudged(completions: Sequence[str], **columns: Sequence[Any]) -> list[Any]:
        return [_number(await answer) for answer in calls(completions, columns)]

    function = functools.wraps(compute_score)(ajudged if is_async(compute_score) else judged)
    # The parameters that it is called with here, not those of what it wraps.
    names = ("completions", *_FIELDS, *extra_info)
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrap_function(function, version=version, columns=[*_FIELDS, *extra_info], **options)


class _Scorer:
    """Scores samples in the form that verl gives and takes them."""

    def __init__(
        self, verifier: Verifier | Ladder | str | Path, readout: Readout, options: Options
    ) -> None:
        backend = Backend.of(verifier, advice=_ADVICE, **options)
        self._backend, self._readout = backend, readout
        verifiers = backend.attachment.ladder.verifiers
        self._parts = [v.name for v in verifiers] if len(verifiers) > 1 else []

    def look(self, config: Any) -> None:
        """Read verl's configuration, and tell what it does to groups."""
        never = _setting(config, "trainer.test_freq", int, otherwise=0) <= 0
        if never and _setting(config, "trainer.val_before_train", bool, otherwise=True) is False:
            self._backend.attachment.evaluation.expect_none()
        workers = _setting(config, "reward.num_workers", int, otherwise=1)
        size = _group_size(config, validates=False)
        if workers > 1 and size is not None and size > 1:
            _LOG.warning(
                "verl shares the %d samples of a prompt among %d reward workers: %s does not "
                "compare them, and their advantages are None; rewards are the same. "
                "reward.num_workers=1 compares them, or one server that all workers ask (`vladder "
                "serve --group-size %d`)", size, workers, self._backend.name, size,
            )  # fmt: skip

    def score(
        self, data_source: Any, solution: str, ground_truth: Any, extra_info: Any
    ) -> dict[str, Any]:
        """Score one sample, and wait."""
        return self._told(
            self._backend.reward(self._sample(data_source, solution, ground_truth, extra_info))
        )

    async def ascore(
        self, data_source: Any, solution: str, ground_truth: Any, extra_info: Any
    ) -> dict[str, Any]:
        """Score one sample."""
        sample = self._sample(data_source, solution, ground_truth, extra_info)
        return self._told(await self._backend.areward(sample))

    def _sample(
        self, data_source: Any, solution: str, ground_truth: Any, extra_info: Any
    ) -> Sample:
        fields = _fields(data_source, ground_truth, extra_info)
        return self._backend.sample(solution, fields, group=_group(fields, extra_info))

    async def ascore_item(
        self,
        response: _Response,
        item: Mapping[str, Any],
        *,
        validates: bool | None,
        group_sizes: Mapping[bool, int | None],
    ) -> dict[str, Any]:
        """Score one sample of a batch, which knows more of it."""
        source, extra = item.get("data_source"), item.get("extra_info")
        truth = (item.get("reward_model") or {}).get("ground_truth")
        fields, prompt = _fields(source, truth, extra), item.get("raw_prompt")
        group = str(item["uid"]) if "uid" in item else _group(fields, extra)
        sample = self._backend.sample(
            response.text, fields, group=group, prompt=prompt,
            evaluation=evaluates(item) if validates is None else validates,
        )  # fmt: skip
        size = group_sizes[sample.evaluation] if "uid" in item else None
        reward = await self._backend.areward(sample, group_size=size)
        return self._told(reward, response.tokens_of(reward))

    def _told(
        self, reward: Reward, tokens: Sequence[tuple[int, int] | None] = ()
    ) -> dict[str, Any]:
        """The same flat keys for every sample: verl reads them off the first."""
        parts = {
            name: nan if (part := reward.components.get(name)) is None else part
            for name in self._parts
        }
        return {
            **parts, "score": self._readout.number(reward, self._backend.name),
            "unknown": float(reward.value is None), "pending": float(reward.pending),
            "reason": reward.reason, **extras_of(reward, tokens),
            **self._backend.attachment.alarms,
        }  # fmt: skip


def _fields(data_source: Any, ground_truth: Any, extra_info: Any) -> dict[str, Any]:
    extra = extra_info if isinstance(extra_info, Mapping) else {}
    return {**extra, "data_source": data_source, "ground_truth": ground_truth}


def _group(fields: Mapping[str, Any], extra_info: Any) -> str:
    """The dataset's row, if it is known: completions of one row answer one prompt.

    Files that each count their rows from 0 are told apart by the ground truth, and by the question
    where the row tells it, as those of verl's own data preparation do.
    """
    extra = extra_info if isinstance(extra_info, Mapping) else {}
    if extra.get("index") is None:
        return ""
    source, truth = str(fields["data_source"]), fields["ground_truth"]
    return group_of([source, str(extra["index"]), truth, extra.get("question")])


def _validates(data: Any) -> bool | None:
    """What verl says of a batch; None where it says nothing, as its agent loop does."""
    flag = (getattr(data, "meta_info", None) or {}).get("validate")
    return flag if isinstance(flag, bool) else None


def _of_validation(files: Any, config: Any) -> bool | None:
    """Whether files are those that verl validates on; None where they are trained on as well."""
    asked, trained, validated = map(_paths, (files, config.train_files, config.val_files))
    if trained == validated or asked not in (trained, validated):
        _LOG.warning(
            "data.train_files and data.val_files do not say of %s whether it validates: its rows "
            "are left as they are", ", ".join(asked),
        )  # fmt: skip
        return None
    return asked == validated


def _paths(files: Any) -> list[str]:
    return [files] if isinstance(files, str) else list(map(str, files or ()))


def _group_size(config: Any, *, validates: bool) -> int | None:
    """How many samples of a prompt verl draws, as its configuration says."""
    at = "actor_rollout_ref.rollout." + ("val_kwargs.n" if validates else "n")
    size = _setting(config, at, int, otherwise=0)
    return size if size > 0 else None


def _setting(config: Any, at: str, kind: type[T], *, otherwise: T) -> T:
    """A setting of verl, by its dotted name."""
    for name in at.split("."):
        config = config.get(name) if hasattr(config, "get") else None
    return config if isinstance(config, kind) else otherwise


class _Response:
    """A response, whose ids are padded on the right."""

    def __init__(self, item: Any, tokenizer: Any) -> None:
        ids = item.batch["responses"]
        length = int(item.batch["attention_mask"][-ids.shape[-1] :].sum())
        self._ids, self._tokenizer = ids[:length], tokenizer
        self.text = str(tokenizer.decode(self._ids, skip_special_tokens=True))

    def tokens_of(self, reward: Reward) -> Sequence[tuple[int, int] | None]:
        """The tokens of a reward's steps; none where the tokenizer can't tell."""
        from verifier_ladder.learners.spans import step_tokens

        try:
            return step_tokens(reward, self.text, self._tokenizer, self._ids.tolist())
        except Exception as error:  # noqa: BLE001 - a number that is known is worth more
            _LOG.warning("the tokens of a response's steps can't be found: %s", error)
            return ()


def _number(answer: Any) -> Any:
    return answer["score"] if isinstance(answer, Mapping) else answer
