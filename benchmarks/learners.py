"""What a reward costs in each library's own path, with a plain function and with the adapter.

Run by `make bench-learners`, in each library's own environment:
`build/learners/LIBRARY/bin/python benchmarks/learners.py LIBRARY [--samples 256] [--rounds 7]`

Both score with the same trivial function, in turn, in one process: *plain* as the library's users
write it, *new* through the adapter with a ledger on disk, completions never seen; *known* the same
completions again. Microseconds per sample, medians of the rounds. Cpu time is this process alone,
so what AReaL's processes take is not in it.
"""
# mypy: disable-error-code="import-not-found,misc,untyped-decorator"
# Each library is installed in its own environment only.

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import verifier_ladder as vl

os.environ |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
Score = Callable[[Sequence[str]], Any]


def exact(completions: Sequence[str], answer: Sequence[str]) -> list[float]:
    """Judge as cheaply as can be."""
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


def check(column: str = "answer") -> vl.Verifier:
    """The same as a verifier."""
    if column == "answer":
        return vl.wrap(exact, columns=[column], isolation="inline", batch=True)

    def renamed(completions: Sequence[str], **columns: Sequence[str]) -> list[float]:
        return exact(completions, columns[column])

    return vl.wrap(renamed, columns=[column], isolation="inline", batch=True)


def trl(ledger: Path) -> dict[str, Score]:
    """A call of a reward function, as `GRPOTrainer` makes it."""
    from verifier_ladder.learners.trl import reward_function

    ours = reward_function(check(), ledger=ledger)

    def call(function: Callable[..., Any]) -> Score:
        return lambda texts: function(
            prompts=["2 + 2 ="] * len(texts), completions=list(texts),
            completion_ids=[[1]] * len(texts), answer=["4"] * len(texts),
        )  # fmt: skip

    return {
        "plain": call(lambda completions, answer, **_: exact(completions, answer)),
        "adapter": call(ours),
    }


def verl(ledger: Path) -> dict[str, Score]:
    """A batch in the reward loop, without the Ray actor around it."""
    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

    from verifier_ladder.learners import verl as adapter

    config: Any = OmegaConf.create({})
    characters = SimpleNamespace(decode=lambda ids, **_: "".join(map(chr, ids.tolist())))

    def batch(texts: Sequence[str]) -> Any:
        width = max(map(len, texts))
        ids = torch.tensor([[*map(ord, t), *[0] * (width - len(t))] for t in texts])
        ones = torch.ones(len(texts), 1, dtype=torch.long)
        mask = torch.cat([ones, (ids != 0).long()], dim=1)
        rows = {
            "data_source": ["s"] * len(texts), "extra_info": [{} for _ in texts],
            "reward_model": [{"ground_truth": "4"}] * len(texts),
        }  # fmt: skip
        return DataProto(
            TensorDict({"prompts": ones, "responses": ids, "attention_mask": mask}, len(texts)),
            {name: np.array(values, dtype=object) for name, values in rows.items()},
        )

    def run(manager: Any) -> Score:
        async def all_of(data: Any) -> None:
            await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))

        return lambda texts: manager.loop.run_until_complete(all_of(batch(texts)))

    async def plain(solution_str: str, ground_truth: str, **_: Any) -> float:
        return exact([solution_str], [ground_truth])[0]

    ours = check("ground_truth")
    function = adapter.compute_score(ours, ledger=ledger)
    manager = adapter.reward_manager(ours, ledger=ledger)
    return {
        "plain": run(NaiveRewardManager(config, characters, plain)),
        "adapter": run(NaiveRewardManager(config, characters, function)),
        "reward manager": run(manager(config, characters, None)),
    }


def skyrl(ledger: Path) -> dict[str, Score]:
    """Environments made and stepped in threads, as SkyRL's generator does."""
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    from verifier_ladder.learners.skyrl import environment

    class Plain(BaseTextEnv):  # type: ignore[misc,unused-ignore]
        def __init__(self, extras: Any, **_: Any) -> None:
            super().__init__()
            self.truth = extras["reward_spec"]["ground_truth"]

        def step(self, action: str) -> Any:
            reward = exact([action], [self.truth])[0]
            return {"observations": [], "reward": reward, "done": True, "metadata": {}}

    adapter = environment(check("ground_truth"), on_abstain=0.0, ledger=ledger)
    skyrl_gym.register(id="plain", entry_point=Plain)
    skyrl_gym.register(id="adapter", entry_point=adapter)
    pool = ThreadPoolExecutor(16)

    def one(name: str, text: str) -> None:
        extras = {"reward_spec": {"ground_truth": "4"}}
        env = skyrl_gym.make(name, env_config={}, extras=extras)
        env.init([{"role": "user", "content": "2 + 2 ="}])
        env.step(text)

    return {
        name: lambda texts, name=name: list(pool.map(lambda text: one(name, text), texts))
        for name in ("plain", "adapter")
    }


def verifiers(ledger: Path) -> dict[str, Score]:
    """Traces scored by their task."""
    import verifiers.v1 as vf
    from verifiers.v1.configs.agent import AgentConfig

    from verifier_ladder.learners.verifiers import reward

    class Sum(vf.TaskData):  # type: ignore[misc,unused-ignore]
        answer: str = "4"

    class Plain(vf.Task[Sum, vf.State]):  # type: ignore[misc,unused-ignore]
        @vf.reward
        async def correct(self, task: Any, trace: Any) -> float:
            return exact([trace.messages[-1].content], [task.answer])[0]

    class Adapter(vf.Task[Sum, vf.State]):  # type: ignore[misc,unused-ignore]
        correct = reward(check(), ledger=ledger)

    def run(task: Any) -> Score:
        def trace(text: str) -> Any:
            record = vf.TraceTask(type="Sum", data=task.data, key="k")
            made = vf.Trace(task=record, agent=vf.AgentInfo(config=AgentConfig()))
            said = [vf.UserMessage(content="2 + 2 ="), vf.AssistantMessage(content=text)]
            made.nodes = [
                vf.MessageNode(parent=i - 1 if i else None, message=m) for i, m in enumerate(said)
            ]
            return made

        async def all_of(traces: Sequence[Any]) -> None:
            await asyncio.gather(*(task.score(one) for one in traces))

        return lambda texts: asyncio.run(all_of([trace(text) for text in texts]))

    data = Sum(prompt="2 + 2 =")
    return {"plain": run(Plain(data)), "adapter": run(Adapter(data))}


def openrlhf(ledger: Path) -> dict[str, Score]:
    """Queries one by one, each in a thread, as OpenRLHF's executor asks."""
    import torch

    from verifier_ladder.learners.openrlhf import reward_func

    package("openrlhf.utils")
    executor = import_module("openrlhf.utils.agent").SingleTurnAgentExecutor()

    def run(function: Callable[..., Any]) -> Score:
        async def all_of(texts: Sequence[str]) -> None:
            executor.reward_func = function
            asked = (executor._fetch_rewards_via_func([f"p{t}"], ["p"], ["4"]) for t in texts)  # noqa: SLF001
            await asyncio.gather(*asked)

        return lambda texts: asyncio.run(all_of(texts))

    def plain(queries: list[str], prompts: list[str], labels: list[str]) -> dict[str, Any]:
        answers = [q.removeprefix(p) for q, p in zip(queries, prompts, strict=True)]
        scores = torch.tensor(exact(answers, labels))
        return {"rewards": scores, "scores": scores, "extra_logs": {}}

    ours = reward_func(check("label"), on_abstain=0.0, ledger=ledger)
    return {"plain": run(plain), "adapter": run(ours)}


def areal_plain(prompt: str, completions: str, *_: Any, answer: str, **__: Any) -> float:
    """Judge in AReaL's process."""
    del prompt
    return exact([completions], [answer])[0]


def areal(ledger: Path) -> dict[str, Score]:
    """Calls through AReaL's wrapper, each in its process pool."""
    from verifier_ladder.learners.areal import reward_fn

    package("areal")
    package("areal.api")
    wrapper = import_module("areal.api.reward_api").AsyncRewardWrapper

    def run(function: Callable[..., Any]) -> Score:
        wrapped = wrapper(function, timeout_seconds=60)

        async def all_of(texts: Sequence[str]) -> None:
            await asyncio.gather(*(wrapped("2 + 2 =", t, [1], [2], answer="4") for t in texts))

        return lambda texts: asyncio.run(all_of(texts))

    return {"plain": run(areal_plain), "adapter": run(reward_fn(check(), ledger=ledger))}


def package(name: str) -> None:
    """Let modules of a package be imported without what the package itself imports."""
    root, *parts = name.split(".")
    spec = None if root in sys.modules else find_spec(root)
    places = spec.submodule_search_locations if spec else sys.modules[root].__path__
    made = ModuleType(name)
    made.__path__ = [str(Path(place, *parts)) for place in places or ()]
    sys.modules[name] = made


LIBRARIES = {f.__name__: f for f in (trl, verl, skyrl, verifiers, openrlhf, areal)}


class Spent(NamedTuple):
    """Microseconds per sample."""

    wall: float
    cpu: float
    """Of this process and all its threads; a busy machine changes it less."""


def measure(score: Score, texts: Sequence[str]) -> Spent:
    """Score once."""
    wall, cpu = perf_counter(), process_time()
    score(texts)
    count = len(texts) / 1e6
    return Spent((perf_counter() - wall) / count, (process_time() - cpu) / count)


def main() -> None:
    """Measure one library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        paths = LIBRARIES[given.library](Path(folder) / "ledger.db")
        spent: dict[str, list[Spent]] = {}
        for turn in range(given.rounds + 1):  # The first opens ledgers and processes.
            texts = [f"answer {turn} {i}" for i in range(given.samples)]
            for name, score in paths.items():
                mine = [f"{name} {text}" for text in texts]
                cases = [name] if name == "plain" else [f"{name}, new", f"{name}, known"]
                for case in cases:
                    spent.setdefault(case, []).append(measure(score, mine))
    for case, rounds in spent.items():
        wall, cpu = (sorted(column) for column in zip(*rounds[1:], strict=True))
        print(
            f"{given.library:10} {case:22} {statistics.median(wall):8.1f} µs a sample "
            f"({wall[0]:.1f}–{wall[-1]:.1f}), cpu {statistics.median(cpu):.1f}"
        )


if __name__ == "__main__":
    main()
