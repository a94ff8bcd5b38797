"""OpenRLHF: verifiers and ladders as the `reward_func` of a file of yours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from typing import Any, Unpack

from verifier_ladder.errors import ConfigError
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.backend import Backend, Options, takes_options
from verifier_ladder.learners.messages import ENDS, without_ends
from verifier_ladder.learners.reader import same_length
from verifier_ladder.learners.readout import Readout, extras_of
from verifier_ladder.reward import Reward
from verifier_ladder.verifiers import Verifier

_ADVICE = (
    "OpenRLHF hands on labels and nothing else of a row: make them objects with a split ('train', "
    "'test') beside the answer, or the function with evaluation=False if it only trains"
)

_UNREAD = Reward(
    None, failed_at=ConfigError.boundary,
    reason="the query does not hold its prompt, so nobody knows what was answered; the "
    "tokenizer must decode prompts to the text that they were made of",
)  # fmt: skip


@takes_options
def reward_func(
    verifier: Verifier | Ladder | str | Path,
    *,
    on_abstain: float,
    clip: tuple[float, float] | None = None,
    ends: Sequence[str] = ENDS,
    **options: Unpack[Options],
) -> Callable[..., dict[str, Any]]:
    """Make a `reward_func(queries, prompts, labels)` for OpenRLHF; its calls need torch.

    **Guarantees.** It answers within the deadline, and what verifiers do never raises: OpenRLHF
    would swallow the exception and lose the sample, and with it its batch.

    **Evaluation.** OpenRLHF calls one function for training and evaluation, and does not say which
    it is. A label does that is an object with a `split`: `{"answer": "4", "split": "test"}`.

    Args:
        verifier: A verifier such as `vl.wrap(…)`, a ladder, a ladder's TOML file, or the name of
            a registered verifier. It reads the column `label`.
        on_abstain: What OpenRLHF is told where nothing is known; it has no way to leave a sample
            out. The log `unknown` says which samples these are.
        clip: Least and largest reward; see `Readout`.
        ends: Tokens that are cut off the end of a query, which is decoded with them.
        options: See `Options`.

    Raises:
        ConfigError: If the arguments can't work. Later, from a call: if its lists differ in
            length, or a verifier reads another column.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, label: [1.0], name="check", columns=["label"])
        >>> reward_func(check, on_abstain=0.0).__name__
        'check'
    """
    backend = Backend.of(verifier, advice=_ADVICE, **options)
    readout = Readout.complete("OpenRLHF", on_abstain, clip)
    names = [v.name for v in backend.attachment.ladder.verifiers]

    def function(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        same_length("prompts", prompts, len(queries))
        same_length("labels", labels, len(queries))
        answers = [answer_of(q, p, ends) for q, p in zip(queries, prompts, strict=True)]
        rewards = _scored(backend, answers, prompts, labels)
        told = _told(rewards, readout, names if len(names) > 1 else [])
        for name, count in backend.attachment.alarms.items():
            told["extra_logs"][name] = _each(rewards, count)
        return told

    function.__name__ = backend.name
    return function


def _scored(
    backend: Backend, answers: Sequence[str | None], prompts: Sequence[str], labels: Sequence[Any]
) -> list[Reward]:
    """Rewards in order; what could not be read is unknown."""
    read = [i for i, answer in enumerate(answers) if answer is not None]
    columns = {
        name: [values[i] for i in read]
        for name, values in (("label", labels), ("prompt", prompts))
        if any(values[i] is not None for i in read)
    }
    samples = backend.samples(
        [answers[i] for i in read], columns, prompts=[prompts[i] for i in read]
    )
    rewards = unscored(answers)
    backend.attachment.unknowns.look((), rewards)
    # OpenRLHF asks for one at a time, from many threads.
    scored = [backend.reward(samples[0])] if len(samples) == 1 else backend.rewards(samples)
    for i, reward in zip(read, scored, strict=True):
        rewards[i] = reward
    return rewards


def _told(rewards: Sequence[Reward], readout: Readout, names: Sequence[str]) -> dict[str, Any]:
    """The dictionary that OpenRLHF takes, with the same logs for every call."""
    import torch

    scores = torch.tensor([readout.value(reward) for reward in rewards])
    logs = {
        "unknown": torch.tensor([float(reward.value is None) for reward in rewards]),
        "pending": torch.tensor([float(reward.pending) for reward in rewards]),
        "process": torch.tensor([extras_of(reward)["process"] for reward in rewards]),
    }
    for name in names:
        parts = [reward.components.get(name) for reward in rewards]
        logs[name] = torch.tensor([nan if part is None else part for part in parts])
    return {"rewards": scores, "scores": scores, "extra_logs": logs}


def _each(rewards: Sequence[Reward], number: float) -> Any:
    """A number of the whole call, as OpenRLHF takes it: one for each sample."""
    import torch

    return torch.full((len(rewards),), number)


def answer_of(query: str, prompt: str, ends: Sequence[str]) -> str | None:
    """What follows the prompt; None if the prompt is not there, for then nobody knows."""
    place = query.find(prompt)
    return without_ends(query[place + len(prompt) :], ends) if place >= 0 else None


def unscored(answers: Sequence[str | None]) -> list[Reward]:
    """What is known before any verifier is asked: why what `answer_of` can't find is unknown."""
    return [Reward(None) if answer is not None else _UNREAD for answer in answers]
