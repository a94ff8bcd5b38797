"""AReaL's own wrapper sends a reward function to its processes, with its limit and its retries."""
# mypy: ignore-errors
# AReaL is not installed everywhere that types are checked.

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import VerifierError
from verifier_ladder.learners.areal import reward_fn


def judge(completions: list[str], answer: list[str]) -> list[float]:
    """Misbehave as the completion says."""
    text = completions[0]
    if text == "raise":
        raise ValueError(text)
    if text == "crash":
        os._exit(9)
    if text == "hang":
        threading.Event().wait()
    return [float("nan") if text == "nan" else float(text == answer[0])]


@pytest.fixture(scope="session")
def api() -> ModuleType:
    """`areal.api.reward_api`, without the trainers that its packages would import."""
    (folder,) = find_spec("areal").submodule_search_locations
    for name in ("areal", "areal.api"):
        package = ModuleType(name)
        package.__path__ = [str(Path(folder, *name.split(".")[1:]))]
        sys.modules[name] = package
    return import_module("areal.api.reward_api")


@pytest.fixture
def tracker(api: ModuleType) -> ModuleType:
    """`areal.utils.stats_tracker`, without torch and AReaL's platforms, for numbers only."""
    del api
    for name, words in {
        "torch": {}, "torch.distributed": {}, "areal.infra": {},
        "areal.infra.platforms": {"current_platform": None},
        "areal.utils.seqpack": {"flat2d": None},
    }.items():  # fmt: skip
        sys.modules.setdefault(name, ModuleType(name)).__dict__.update(words)
    sys.modules["torch"].distributed = sys.modules["torch.distributed"]
    sys.modules["torch"].Tensor = type(None)
    return import_module("areal.utils.stats_tracker")


Call = Callable[..., float]


@pytest.fixture
def call(api: ModuleType, tmp_path: Path) -> Call:
    """Ask for rewards as `RLVRWorkflow` does."""

    def ask(
        *completions: str, timeout: float = 0.5, limit: float = 60, first: int = 0, **options: Any
    ) -> list[float]:
        """So many are asked for, and answered, before the others are asked for together."""
        check = vl.wrap(judge, version="1", columns=["answer"], timeout=timeout)
        options = {"deadline": 50, **options}  # Workers start slowly on a busy machine.
        made = reward_fn(check, ledger=tmp_path / "ledger.db", **options)
        wrapper = api.AsyncRewardWrapper(made, max_retries=0, timeout_seconds=limit)
        row = {"answer": "4", "messages": [{"role": "user", "content": "2 + 2 ="}]}

        async def gather() -> list[float]:
            asked = [wrapper("2 + 2 =", text, [1], [2], **row) for text in completions]
            before = [await one for one in asked[:first]]
            return before + await asyncio.gather(*asked[first:])

        return asyncio.run(gather())

    return ask


def test_completions_get_the_verifiers_own_numbers(call: Call) -> None:
    assert [1.0, 0.0, 0.0, 1.0] == call("4", "5", "日本 🧪", "4")


def test_the_tokens_that_end_a_completion_are_no_part_of_the_answer(call: Call) -> None:
    """`RLVRWorkflow` decodes them."""
    assert [1.0, 1.0] == call("4<|im_end|>", "4</s></s>")
    assert [0.0] == call("4</s>", ends=())


@pytest.mark.parametrize("completion", ["raise", "nan"])
def test_what_is_unknown_raises(call: Call, completion: str) -> None:
    """AReaL drops the sample; of a None it would make a number."""
    with pytest.raises(VerifierError, match="nothing is known"):
        call(completion)


def test_a_number_stands_for_the_unknown_where_it_is_asked_for(call: Call) -> None:
    told = call("4", "raise", "crash", "hang", "nan", on_abstain=-1.0)

    assert [1.0, -1.0, -1.0, -1.0, -1.0] == told


def test_the_deadline_comes_before_areals_limit(api: ModuleType) -> None:
    """Which would make a 0 of a reward that is not known yet."""
    limit = signature(api.AsyncRewardWrapper).parameters["timeout_seconds"].default
    made = reward_fn(vl.wrap(judge, columns=["answer"]))

    assert limit > made._backend.attachment.deadline


def test_the_deadline_answers_and_not_areals_limit(call: Call) -> None:
    """A verifier that may take longer than both never answers: AReaL would make a 0 of it."""
    assert [-1.0] == call("hang", timeout=1e6, limit=120, deadline=1.0, on_abstain=-1.0)


def test_the_metrics_come_to_areals_tracker(call: Call, tracker: Any) -> None:
    call("4", "nan", on_abstain=-1.0)

    told = {name: sorted(values) for name, values in tracker.get("rollout").stats.items()}
    assert {
        "rollout/judge/unknown": [0.0, 1.0], "rollout/judge/pending": [0.0, 0.0],
        "rollout/judge/gaming_alarms": [0.0, 0.0], "rollout/judge/unanswered_alarms": [0.0, 0.0],
    } == told  # fmt: skip


def test_processes_that_get_it_record_one_run(api: ModuleType, tmp_path: Path) -> None:
    """AReaL has a pool of them for each number of workers that its wrappers ask for."""
    check = vl.wrap(judge, version="1", columns=["answer"], isolation="inline")
    made = reward_fn(check, ledger=tmp_path / "ledger.db", deadline=50)
    pools = [
        api.AsyncRewardWrapper(made, max_retries=0, timeout_seconds=60, max_workers=workers)
        for workers in (1, 2)
    ]

    async def ask() -> list[float]:
        return [await pool("2 + 2 =", "4", [1], [2], answer="4") for pool in pools]

    assert [1.0, 1.0] == asyncio.run(ask())
    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        blocks = [ledger.read(entry).samples for entry in ledger.entries(kind="score")]
    assert [2, 1] == [len(blocks), len({samples.run for samples in blocks})]


def test_a_process_that_gets_it_with_every_call_opens_one_run(call: Call, tmp_path: Path) -> None:
    """With every call that is made before, after or while others are answered."""
    call("1", "2", "3", "4", first=1)

    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        blocks = [ledger.read(entry).samples for entry in ledger.entries(kind="score")]
    assert 4 == len(blocks)
    assert 1 == len({samples.run for samples in blocks})


@pytest.mark.parametrize("workers", [1, 2])
def test_tries_take_nobodys_place_in_a_group(
    api: ModuleType, tmp_path: Path, workers: int
) -> None:
    """Whichever process of the pool is asked again."""
    check = vl.wrap(judge, version="1", columns=["answer"], isolation="inline")
    made = reward_fn(check, ledger=tmp_path / "ledger.db", deadline=50, run="r", group_size=4)
    pool = api.AsyncRewardWrapper(made, timeout_seconds=60, max_workers=workers)

    async def ask(text: str) -> float | None:
        try:
            return await pool("2 + 2 =", text, [1], list(map(ord, text)), answer="4")
        except VerifierError:
            return None

    async def gather() -> list[float | None]:
        return [await ask(text) for text in ("4", "raise", "5", "44")]

    assert [1.0, None, 0.0, 0.0] == asyncio.run(gather())
    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        blocks = [ledger.read(entry).samples for entry in ledger.entries(kind="score")]
    sizes = [size for samples in blocks for size in samples.group_sizes or ()]
    assert [4] * 4 + [-1] * 3 == sorted(sizes, reverse=True)
