"""What SkyRL's trainers say of a batch reaches the environments, told without SkyRL."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from verifier_ladder.learners.skyrl import tell_phase


class Generator:
    """Keeps what it is asked for."""

    async def generate(self, input_batch: Any, disable_tqdm: bool = False) -> Any:  # noqa: FBT001, FBT002
        return input_batch["env_extras"], disable_tqdm


def batch(phase: str, names: list[str] | None) -> dict[str, Any]:
    ids = None if names is None else [SimpleNamespace(instance_id=name) for name in names]
    return {
        "env_extras": [{"answer": "4"}] * 3, "trajectory_ids": ids,
        "batch_metadata": SimpleNamespace(training_phase=phase, global_step=1),
    }  # fmt: skip


@pytest.mark.parametrize(("phase", "evaluates"), [("train", False), ("eval", True)])
@pytest.mark.parametrize(("names", "sizes"), [(["a", "b", "a"], [2, 1, 2]), (None, [None] * 3)])
def test_extras_tell_the_phase_and_the_size_of_the_group(
    phase: str,
    evaluates: bool,  # noqa: FBT001
    names: list[str] | None,
    sizes: list[int | None],
) -> None:
    asked = batch(phase, names)
    extras, is_quiet = asyncio.run(tell_phase(Generator()).generate(asked, disable_tqdm=True))

    assert is_quiet
    assert ["4"] * 3 == [extra["answer"] for extra in extras]
    told = [extra["verifier_ladder"] for extra in extras]
    assert [{"evaluation": evaluates, "group_size": size} for size in sizes] == told
    assert {"answer"} == set(asked["env_extras"][0])  # The caller's own are as they were.


def test_a_batch_of_which_nothing_is_said_passes_as_it_is() -> None:
    extras = [{"answer": "4"}]
    told, _ = asyncio.run(tell_phase(Generator()).generate({"env_extras": extras}))

    assert extras == told
