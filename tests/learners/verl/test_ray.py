"""The reward loop whole: verl's manager and its Ray actors, which share one ledger."""
# mypy: ignore-errors
# verl is not installed everywhere that types are checked.

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import ray
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager

from verifier_ladder import open_ledger

WORDS = ["<pad>", "<eos>", "<unk>", "4", "5", "raise", "日本"]
FILE = """
    from verifier_ladder.learners import verl

    def judge(data_source, solution_str, ground_truth, extra_info=None):
        if solution_str == "raise":
            raise ValueError(solution_str)
        return float(solution_str == ground_truth)

    compute_score = verl.compute_score(
        verl.wrap(judge, version="1"), on_abstain=-1.0, ledger="LEDGER", deadline=60, run="mine"
    )
"""


def begin() -> None:
    """Start Ray, which gives a node 30 seconds to begin: on a busy machine the next try does."""
    for tries_left in reversed(range(5)):
        try:
            ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1")
        except Exception:
            ray.shutdown()
            if not tries_left:
                raise
        else:
            return


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RewardLoopManager]:
    """Two workers, each a process that loads the user's file."""
    monkeypatch.setenv("HOME", str(tmp_path))  # Where Ray writes its cluster's token.
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"  # noqa: S106
    ).save_pretrained(tmp_path / "model")  # fmt: skip
    (tmp_path / "reward.py").write_text(
        dedent(FILE).replace("LEDGER", str(tmp_path / "ledger.db"))
    )
    path = str(tmp_path / "model")
    config = {
        "reward": {
            "num_workers": 2,
            "custom_reward_function": {
                "path": str(tmp_path / "reward.py"),
                "name": "compute_score",
            },
            "reward_manager": {"source": "register", "name": "naive"},
            "reward_model": {"enable": False},
        },
        "actor_rollout_ref": {"model": {"path": path, "tokenizer_path": path}},
    }
    begin()
    yield RewardLoopManager(OmegaConf.create(config))
    ray.shutdown()


@pytest.mark.timeout(900)
def test_a_batch_is_shared_out_and_comes_back_in_order(
    manager: RewardLoopManager, tmp_path: Path
) -> None:
    texts = ["4", "5", "raise", "4", "日本"]
    ids = torch.tensor([[WORDS.index(text)] for text in texts])
    rows = {
        "data_source": ["sums"] * len(texts),
        "reward_model": [{"ground_truth": "4"}] * len(texts),
        "extra_info": [{} for _ in texts],
    }
    ones = torch.ones(len(texts), 1, dtype=torch.long)
    tensors = {"prompts": ones, "responses": ids, "attention_mask": ones.repeat(1, 2)}
    data = DataProto(
        TensorDict(tensors, batch_size=len(texts)),
        {name: np.array(values, dtype=object) for name, values in rows.items()},
    )

    told = manager.compute_rm_score(data)

    assert [1.0, 0.0, -1.0, 1.0, 0.0] == told.batch["rm_scores"].sum(dim=1).tolist()
    assert [0.0, 0.0, 1.0, 0.0, 0.0] == told.non_tensor_batch["unknown"][:5].tolist()
    with open_ledger(tmp_path / "ledger.db") as ledger:
        blocks = [ledger.read(entry) for entry in ledger.entries(kind="score")]
    assert {"mine"} == {block.samples.run for block in blocks}
    assert 6 == sum(len(block.rewards) for block in blocks)  # verl pads to a multiple of two.
