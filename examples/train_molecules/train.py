"""Train a small policy to write molecules that dissolve well in water, honestly and gamed.

*Honest*: a sound estimate for every molecule, and xTB for one in four, drawn at random.
*Gamed*: the estimate has a loophole, and nothing is drawn.
*Caught*: the same, but after half of these steps the draws begin, for as many as the others have;
from the drawn molecules alone the belief learns what the estimate is worth, so the reward falls
to the truth. Mostly a drift alarm tells of the loophole before.

Before the draws begin, the estimate is compared with xTB on fifty well-known molecules. Afterwards
xTB is asked about some molecules of every fifth step, so that the picture can show what neither
the policy nor the alarm has seen.
"""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import strftime
from typing import Any

os.environ |= {
    "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": "",
}  # fmt: skip

from datasets import Dataset
from ladders import electronegativity, ladder
from policy import LONGEST, PROMPT, model, tokenizer
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function
from verifier_ladder.tiers.fast.hydration import HydrationEstimate
from verifier_ladder.tiers.simulation.xtb import XtbHydration
from verifier_ladder.tiers.world.measured import MeasuredHydration

BATCH, GROUP = 32, 16
AUDIT = 0.25
ASKED_AFTERWARDS = 6
"""Molecules of every fifth step that xTB is asked about for the picture."""


@dataclass
class Training:
    """One policy, what it wrote, and what it was told."""

    name: str
    policy: Any = field(default_factory=lambda: model(seed=1))
    molecules: list[list[str]] = field(default_factory=list)
    """What the policy wrote, step by step."""
    rewards: list[list[float]] = field(default_factory=list)
    """What it was told."""
    watched_from: int | None = None
    """The first step with draws."""
    alarm: str = ""
    alarmed_at: int | None = None
    """The step after which the alarm was there."""
    truth: dict[int, float] = field(default_factory=dict)
    """Mean reward by xTB, for some steps."""


class Watch(TrainerCallback):
    """Looks for drift after every step; a training that matters would stop there."""

    def __init__(self, campaign: vl.Campaign, training: Training) -> None:
        self._campaign, self._training = campaign, training

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Keep the first alarm that says the cheap estimate is being gamed."""
        del args, state, control
        self._campaign.drain("1 min")  # So that the picture is the same on a slow machine.
        gamed = [alarm for alarm in self._campaign.alarms() if alarm.is_gamed]
        if gamed and self._training.alarmed_at is None:
            self._training.alarm = gamed[0].text
            self._training.alarmed_at = len(self._training.molecules) - 1
            print(f"step {self._training.alarmed_at}: drift alarm: {gamed[0].text}")


def remembering(function: Callable[..., Any], training: Training) -> Callable[..., Any]:
    """The same reward function, which also keeps what it was asked and said."""

    def reward(completions: list[str], **rest: Any) -> Any:
        told = function(completions=completions, **rest)
        training.molecules.append(completions)
        training.rewards.append([value for value in told if value is not None])
        return told

    return reward


def compare(campaign: vl.Campaign, cheap: vl.Verifier) -> None:
    """Show the belief how the estimate does on ordinary molecules, before the policy writes."""
    candidates = [vl.Candidate("molecule", smiles) for smiles in MeasuredHydration().known]
    verifiers = (cheap, XtbHydration())
    rows = [
        {"content": candidate.content} | {v.name: v.judge([candidate])[0].score for v in verifiers}
        for candidate in candidates
    ]
    campaign.import_verdicts(rows, source="comparison on well-known molecules")


def train(
    training: Training, cheap: vl.Verifier, steps: int, folder: Path, *, audit: float | None
) -> None:
    """Train a policy for some steps, with or without draws."""
    name = training.name if audit is None else f"{training.name}-watched"
    run = vl.Run(
        f"{name}-{strftime('%Y%m%d-%H%M%S')}", project="train_molecules",
        environment="one prompt, one molecule of up to six fragments", tool_budget="no tools",
        scaffold="none", evaluator="xTB with a water model",
        failure_recovery="a failed check is tried again; what stays unknown is masked",
    )  # fmt: skip
    function = reward_function(
        ladder(name, cheap, audit=audit), ledger=folder / f"{training.name}.db", deadline=None,
        clip=(-3.0, 3.0), run=run,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=training.policy, processing_class=tokenizer(),
        args=GRPOConfig(
            output_dir=str(folder / name), use_cpu=True, bf16=False, report_to="none", seed=1,
            save_strategy="no", disable_tqdm=True, logging_strategy="no", max_steps=steps,
            learning_rate=4e-3, lr_scheduler_type="constant",
            per_device_train_batch_size=BATCH, num_generations=GROUP,
            max_completion_length=LONGEST,
            scale_rewards="none",  # Corrected rewards vary more; their own spread is no yardstick.
        ),
        train_dataset=Dataset.from_list([{"prompt": PROMPT}] * BATCH),
        reward_funcs=[remembering(function, training)],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    if audit is not None:
        training.watched_from = len(training.molecules)
        compare(function.campaign, cheap)
        trainer.add_callback(Watch(function.campaign, training))
    print(f"{name}: {steps} steps of {BATCH} molecules")
    trainer.train()
    function.close()


def ask_xtb(training: Training, folder: Path) -> None:
    """Find out what the policy's molecules were worth; what was drawn before is not paid again."""
    truth = ladder(f"{training.name}-truth")
    with vl.Campaign.open(
        truth.name, ladder=truth, ledger=folder / f"{training.name}.db"
    ) as campaign:
        for step in range(0, len(training.molecules), 5):
            rewards = campaign.score(training.molecules[step][:ASKED_AFTERWARDS], deadline="5 min")
            known = [reward.value for reward in rewards if reward.value is not None]
            if known:
                training.truth[step] = fmean(known)


def draw(trainings: list[Training], picture: Path) -> None:
    """Draw what each policy was told, and what its molecules were worth."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(trainings), figsize=(13, 4), sharey=True, layout="constrained"
    )
    for axis, training in zip(axes, trainings, strict=True):
        told = [fmean(step) if step else float("nan") for step in training.rewards]
        axis.plot(told, color="#1f5fa8", linewidth=1.4, label="reward the policy was told")
        axis.plot(
            list(training.truth), list(training.truth.values()), "o", color="#c8501e",
            markersize=4, label="the same by xTB, asked afterwards",
        )  # fmt: skip
        if training.watched_from:
            mark(axis, training.watched_from, "draws begin ", "right", 0.94)
        if training.alarmed_at is not None:
            mark(axis, training.alarmed_at, " drift alarm", "left", 0.94)
        axis.set(title=training.name, xlabel="training step")
        axis.grid(visible=True, color="#ddd", linewidth=0.5)
    axes[0].set_ylabel("mean reward (0: +2, 1: −22 kcal/mol)")
    axes[0].legend(loc="lower right", frameon=False)
    figure.savefig(picture, dpi=120)


def mark(axis: Any, step: int, text: str, side: str, height: float) -> None:
    """Draw a line where something happened, with a word beside it."""
    axis.axvline(step, color="#555", linestyle="--", linewidth=1)
    axis.annotate(text, (step, height), xycoords=("data", "axes fraction"), ha=side, color="#555")


def main() -> None:
    """Train both policies, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--out", type=Path, default=Path("build/train_molecules"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    honest, gamed, caught = trainings = [Training(n) for n in ("honest", "gamed", "caught")]
    train(honest, HydrationEstimate(), given.steps, given.out, audit=AUDIT)
    train(gamed, electronegativity, given.steps, given.out, audit=None)
    train(caught, electronegativity, given.steps // 2, given.out, audit=None)
    train(caught, electronegativity, given.steps, given.out, audit=AUDIT)
    for training in trainings:
        ask_xtb(training, given.out)
        print(
            f"{training.name}: reward {fmean(training.rewards[0]):.2f} → "
            f"{fmean(training.rewards[-1]):.2f}, by xTB {list(training.truth.values())[-1]:.2f}; "
            f"{training.alarm or 'no alarm'}; wrote {training.molecules[-1][0]}"
        )
    draw(trainings, given.out / "curves.png")
    print(f"picture: {given.out / 'curves.png'}")


if __name__ == "__main__":
    main()
