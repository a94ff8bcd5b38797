"""A client that asks for rewards as slime's rollouts do: by path, sample by sample or by group.

There is no release of slime that could be installed. What is followed here is what it does in
public with a custom reward function: a dotted path names it, it is awaited with the arguments and
one sample when that sample's generation ends, with a list where one rollout was cut into parts or,
with `--group-rm`, where a group is complete. Then rewards are centred by their group, samples that
are marked are masked, and another dotted path names what adds to the metrics.
"""

import asyncio
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.late import step_advantages

FILE = """
    import verifier_ladder as vl
    from verifier_ladder.learners.slime import custom_rm

    def exact(completions, label):
        return [None if c == "?" else float(c == x) for c, x in zip(completions, label)]

    check = vl.wrap(exact, version="1", columns=["label"], isolation="inline")
    options = dict(on_abstain=0.5, ledger="LEDGER", campaign="c", run="mine")
    rm = custom_rm(check, **options)
    log = rm.log
    judged = custom_rm(check, evaluation=True, **options)
"""
SUMS = {"1 + 1 =": "2", "2 + 2 =": "4"}


@dataclass
class Generated:
    """A sample as slime keeps it, as far as a reward function sees it."""

    prompt: str
    label: str
    response: str = ""
    reward: float | None = None
    remove_sample: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    custom_rm_path: str | None = None


class Rollouts:
    """The part of slime between a generation's end and the loss."""

    def __init__(self, **arguments: Any) -> None:
        self.args = SimpleNamespace(
            **{
                "custom_rm_path": "my_rewards.rm", "group_rm": False, "n_samples_per_prompt": 2,
                "n_samples_per_eval_prompt": 2, "custom_rollout_log_function_path": None,
                **arguments,
            }
        )  # fmt: skip

    async def run(self, *groups: Sequence[Generated]) -> list[list[Generated]]:
        """Reward all groups, of which the first samples end before all second ones, and so on."""
        ended: list[asyncio.Event] = [asyncio.Event() for group in groups for _ in group]
        turns = iter(ended)
        order = {
            (row, at): next(turns) for at in range(len(groups[0])) for row in range(len(groups))
        }
        ended[0].set()
        following = dict(zip(ended, [*ended[1:], asyncio.Event()], strict=True))
        await asyncio.gather(
            *(
                self._group(group, [order[row, at] for at in range(len(group))], following)
                for row, group in enumerate(groups)
            )
        )
        return [list(group) for group in groups]

    async def _group(
        self,
        group: Sequence[Generated],
        ends: Sequence[asyncio.Event],
        following: dict[asyncio.Event, asyncio.Event],
    ) -> None:
        async def one(sample: Generated, end: asyncio.Event) -> None:
            await end.wait()
            if not self.args.group_rm:
                sample.reward = await self.reward(sample)
            following[end].set()

        await asyncio.gather(*map(one, group, ends))
        if self.args.group_rm:
            await self.reward_all(group)

    async def reward(self, sample: Generated) -> float:
        """The reward of one sample; a data set of the evaluation may name its own function."""
        function = loaded(sample.custom_rm_path or self.args.custom_rm_path)
        return await function(self.args, sample)  # type: ignore[no-any-return]

    async def reward_all(self, samples: Sequence[Generated]) -> None:
        """The rewards of a group, or of the parts of one rollout."""
        function = loaded(self.args.custom_rm_path)
        for sample, reward in zip(samples, await function(self.args, list(samples)), strict=True):
            sample.reward = reward

    def advantages(self, group: Sequence[Generated]) -> list[float]:
        """What is trained on: rewards centred by their group, nothing of what is masked."""
        rewards = [float(sample.reward or 0.0) for sample in group]
        centred = [reward - fmean(rewards) for reward in rewards]
        pairs = zip(group, centred, strict=True)
        return [0.0 if sample.remove_sample else one for sample, one in pairs]

    def metrics(self, samples: Sequence[Generated]) -> dict[str, Any]:
        """What is logged of a rollout."""
        told: dict[str, Any] = {"rollout/dropped": 0}
        path = self.args.custom_rollout_log_function_path
        if path is not None and loaded(path)(7, self.args, samples, told, 1.5):
            return {}
        return told


def loaded(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def generated(prompt: str, *answers: str, **more: Any) -> list[Generated]:
    return [Generated(prompt, SUMS[prompt], answer, **more) for answer in answers]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The ledger of the user's file, which can be imported."""
    place = tmp_path / "ledger.db"
    (tmp_path / "my_rewards.py").write_text(dedent(FILE).replace("LEDGER", str(place)))
    monkeypatch.syspath_prepend(tmp_path)
    yield place
    module = sys.modules.pop("my_rewards", None)
    for name in ("rm", "judged"):
        if module is not None:
            getattr(module, name).close()


def compared(ledger: Path, run: str = "mine") -> list[list[float | None]]:
    with open_ledger(ledger) as opened:
        steps = range(opened.next_step("c", run))
        rows = [step_advantages(opened, "c", run, step) for step in steps]
    return [[row.advantage for row in step] for step in rows]


def test_samples_that_end_in_turns_are_rewarded_and_compared_with_their_group(
    ledger: Path,
) -> None:
    rollouts = Rollouts()
    groups = [generated("1 + 1 =", "2", "3"), generated("2 + 2 =", "5", "4")]
    told = asyncio.run(rollouts.run(*groups))

    assert [[1.0, 0.0], [0.0, 1.0]] == [[one.reward for one in group] for group in told]
    assert [[0.5, -0.5], [-0.5, 0.5]] == [rollouts.advantages(group) for group in told]
    assert {-1.0, 1.0} == {one for step in compared(ledger) for one in step}


def test_what_is_unknown_is_masked(ledger: Path) -> None:
    del ledger
    rollouts = Rollouts()
    (group,) = asyncio.run(rollouts.run(generated("2 + 2 =", "4", "?")))

    assert [1.0, 0.5] == [one.reward for one in group]
    assert [0.25, 0.0] == rollouts.advantages(group)


def test_a_group_that_is_rewarded_as_one_is_one_call(ledger: Path) -> None:
    rollouts = Rollouts(group_rm=True)
    groups = [generated("1 + 1 =", "2", "3"), generated("2 + 2 =", "5", "4")]
    told = asyncio.run(rollouts.run(*groups))

    assert [[1.0, 0.0], [0.0, 1.0]] == [[one.reward for one in group] for group in told]
    with open_ledger(ledger) as opened:
        blocks = [opened.read(entry).samples for entry in opened.entries(kind="score")]
    assert [2, 2] == [len(block.groups or ()) for block in blocks if block is not None]


def test_the_parts_of_one_rollout_are_no_group(ledger: Path) -> None:
    """One rollout of several was cut into two; with the others they would be compared."""
    rollouts = Rollouts(n_samples_per_prompt=4)
    parts = generated("2 + 2 =", "5", "4")
    asyncio.run(rollouts.reward_all(parts))

    assert [0.0, 1.0] == [one.reward for one in parts]
    assert [[None, None]] == compared(ledger)


def test_a_data_set_of_the_evaluation_names_a_function_of_its_own(ledger: Path) -> None:
    rollouts = Rollouts()
    asyncio.run(rollouts.run(generated("2 + 2 =", "4", "5", custom_rm_path="my_rewards.judged")))

    with open_ledger(ledger) as opened:
        runs = {
            block.samples.run
            for entry in opened.entries(kind="score")
            if (block := opened.read(entry)).samples is not None
        }
    assert {vl.Run("mine").evaluations.name} == runs


def test_alarms_are_among_the_metrics_and_the_others_stay(ledger: Path) -> None:
    del ledger
    rollouts = Rollouts(custom_rollout_log_function_path="my_rewards.log")
    (group,) = asyncio.run(rollouts.run(generated("2 + 2 =", "4", "5")))

    assert {
        "rollout/dropped": 0, "rollout/exact/gaming_alarms": 0.0,
        "rollout/exact/unanswered_alarms": 0.0,
    } == rollouts.metrics(group)  # fmt: skip
