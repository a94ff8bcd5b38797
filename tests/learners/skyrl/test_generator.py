"""SkyRL's own generator makes and steps the environments, and says for what."""
# mypy: ignore-errors
# SkyRL is not installed everywhere that types are checked.

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import skyrl_gym
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.evaluate import evaluate
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator
from skyrl.train.generators.utils import prepare_generator_input
from skyrl_gym.envs.registration import registry
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.learners.skyrl import environment, tell_phase
from verifier_ladder.runs import read_run
from verifier_ladder.scheduler.late import step_advantages

WORDS = ["<pad>", "<eos>", "<unk>", "4", "5", "6", "sum", "user", "assistant", "system"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <eos> {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)


class Engine:
    """An inference engine that answers each prompt with "4", later, and "5" in turn."""

    def __init__(self) -> None:
        self.asked = Counter()

    async def generate(self, asked: Any, model: Any = None) -> dict[str, Any]:
        del model
        (prompt,) = map(tuple, asked["prompt_token_ids"])
        text = "45"[self.asked[prompt] % 2]
        self.asked[prompt] += 1
        if text == "4":
            for _ in range(40):
                await asyncio.sleep(0)
        return {
            "responses": [text], "response_ids": [[WORDS.index(text), 1]],
            "stop_reasons": ["stop"], "response_logprobs": [[-1.0, -1.0]],
        }  # fmt: skip

    async def finish_session(self, session: Any) -> None:
        """Release nothing."""


def tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"  # noqa: S106
    )  # fmt: skip
    made.chat_template = TEMPLATE
    return made


def exact(completions: list[str], ground_truth: list[str]) -> list[float]:
    return [float(c == t) for c, t in zip(completions, ground_truth, strict=True)]


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    """Prompts as SkyRL's dataset hands them over; they do not say what they are for."""
    return [
        {
            "prompt": [{"role": "user", "content": f"sum {4 + i}"}], "env_class": None,
            "env_extras": {"reward_spec": {"ground_truth": "4"}, "data_source": "sums", **more},
            "uid": str(i),
        }
        for i in range(count)
    ]  # fmt: skip


Roll = Callable[..., None]


@pytest.fixture
def roll(tmp_path: Path) -> Roll:
    """Train on three prompts, and evaluate on two of them, as SkyRL's trainer does."""

    def run(made: type, change: Callable[[Any], Any], *, trains: bool = True, **more: Any) -> None:
        config = SkyRLTrainConfig()
        config.environment.env_class = "ladder-generator"
        config.generator.batched = False
        config.generator.eval_n_samples_per_prompt = 2
        config.trainer.dump_eval_results = True
        config.trainer.export_path = str(tmp_path / "export")
        skyrl_gym.register(id="ladder-generator", entry_point=made)
        words = tokenizer()
        generator = change(
            SkyRLGymGenerator(
                generator_cfg=config.generator, skyrl_gym_cfg=config.environment.skyrl_gym,
                inference_engine_client=Engine(), tokenizer=words,
            )
        )  # fmt: skip
        asked, _ = prepare_generator_input(
            rows(3, **more), 2, None, "ladder-generator", "train", 1
        )  # fmt: skip

        async def both() -> None:
            if trains:
                await generator.generate(asked)
            told = await evaluate([rows(2, **more)], generator, config, 1, words)
            assert 0.5 == told["eval/all/avg_score"]

        asyncio.run(both())

    yield run
    registry.pop("ladder-generator", None)


def checked() -> vl.Verifier:
    return vl.wrap(exact, version="1", columns=["ground_truth"], isolation="inline")


def test_the_phase_tells_evaluation_from_training(roll: Roll, tmp_path: Path) -> None:
    """On the very prompts of the training, whose rows do not say what they are for."""
    made = environment(checked(), on_abstain=-1.0, ledger=tmp_path / "l.db", run="r", campaign="c")
    roll(made, tell_phase)

    sure = Selection(pass_at=0.0, sure=0.0)
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        trained = read_run(ledger, "r", campaign="c")
        beside = read_run(ledger, "r", campaign="c", evaluation=True)
        assert [6, 4] == [len(record.samples) for record in (trained, beside)]
        assert 6 == training_set(ledger, "sft", run="r", selection=sure).samples
        assert 6 == curriculum(ledger, "r", pass_at=0.5).passes.samples


def test_samples_of_a_prompt_are_compared_whenever_they_end(roll: Roll, tmp_path: Path) -> None:
    made = environment(checked(), on_abstain=-1.0, ledger=tmp_path / "l.db", run="r", campaign="c")
    roll(made, tell_phase)

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        for run, groups in (("r", 3), ("r/eval", 2)):
            told = [
                row.advantage
                for step in range(ledger.next_step("c", run))
                for row in step_advantages(ledger, "c", run, step)
            ]
            assert sorted([-1.0, 1.0] * groups) == sorted(told)


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [(tell_phase, {}, 0), (lambda made: made, {}, 1), (lambda made: made, {"split": "test"}, 0)],
    ids=["the phase", "nobody", "the rows"],
)
def test_that_nobody_says_what_evaluates_is_told_once(
    roll: Roll,
    change: Any,
    more: dict[str, Any],
    said: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    roll(environment(checked(), on_abstain=-1.0), change, trains=False, **more)

    lines = [r.getMessage() for r in caplog.records if r.name == "verifier_ladder"]
    assert said == len([line for line in lines if "tell_phase" in line])
