"""The demo of cheaters: a policy trained twice, by a reward that can be fooled and by a ladder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from verifier_ladder.candidate import Sample
from verifier_ladder.demo.cheaters import AUDITED, Bandit, Pool, audited, pool, rewarding, truth
from verifier_ladder.demo.running import check_packages, make_folder
from verifier_ladder.demo.telling import bar, quiet, say
from verifier_ladder.doctor import sandbox_findings
from verifier_ladder.errors import SandboxError
from verifier_ladder.run import Run
from verifier_ladder.summary.steps import StepCurves, StepMeans
from verifier_ladder.tiers.sandbox import Sandbox

if TYPE_CHECKING:
    from rich.console import Console

    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.drift import Alarm

LEDGER = Path("demo-output") / "cheaters.db"
STEPS, GROUP = 72, 32
"""Steps of a training, and samples of each of the 16 tasks in a step.

Of 50 seeds with audits, the slowest is at 0.76 true after 56 steps, at 0.84 after 64, at 0.88 now.
"""
LAST = 5
"""Steps at the end that are averaged."""
_TOLD_EVERY = 8
_DEADLINE = 120.0
"""Seconds that a step may wait for its hidden tests."""


class Training(NamedTuple):
    """What came of one training."""

    campaign: str
    steps: tuple[StepMeans, ...]
    alarms: tuple[Alarm, ...]
    unknown: int
    """Samples without a reward, which the policy did not learn from."""

    @property
    def told(self) -> float:
        """What the policy was told in its last steps, in the mean."""
        return fmean(step.told or 0.0 for step in self.steps[-LAST:])

    @property
    def true(self) -> float:
        """The share of its last samples that pass the hidden tests."""
        return fmean(step.shadow or 0.0 for step in self.steps[-LAST:])

    def as_json(self) -> dict[str, Any]:
        """The training, for programs."""
        return {
            "campaign": self.campaign, "told": self.told, "true": self.true,
            "alarms": [alarm.text for alarm in self.alarms], "unknown": self.unknown,
            "steps": [{"step": s.step, "told": s.told, "true": s.shadow} for s in self.steps],
        }  # fmt: skip


def run_cheaters(
    *,
    ledger: str | Path = LEDGER,
    report: str | Path | None = None,
    console: Console | None = None,
    seed: int | None = None,
) -> list[Training]:
    """Train a policy twice, watch it cheat, watch it being caught, and write the report.

    The policy picks among 24 programs that an exit code pays without an answer, and 16 honest
    ones, one for each task. All are run in the sandbox. Draws differ each time.

    Args:
        ledger: Where the ledger lies, or will lie.
        report: Where the HTML report goes; next to the ledger if left out.
        console: Where to print; standard output if left out.
        seed: Of the policy's draws; another one each time if left out.

    Returns:
        The training by the exit code alone, and the audited one.

    Raises:
        SandboxError: If this machine has no sandbox; it tells what `vladder doctor` says.
        ConfigError: If a package is missing, or the report can't be written there.

    Example:
        >>> alone, caught = run_cheaters()  # doctest: +SKIP
        >>> alone.told > 0.95, alone.true < 0.1, caught.true > 0.8  # doctest: +SKIP
        (True, True, True)
    """
    from rich.console import Console

    from verifier_ladder.ledger import open_ledger
    from verifier_ladder.report import write_report

    _check()
    out = console or Console()
    page = Path(report) if report else Path(ledger).with_name("cheaters.html")
    make_folder(page.parent)
    began, name = monotonic(), uuid4().hex[:6]
    seeds = np.random.SeedSequence(seed)
    say(out, _introduction(pool()))
    with open_ledger(ledger) as store, quiet():
        made = [
            train(f"{ladder.name}-{name}", ladder, store, seeds, _teller(out, title), cache=name)
            for title, ladder in ((_ALONE, rewarding()), (_CAUGHT, audited()))
        ]
        write_report(
            store, made[1].campaign, page, beside=[made[0].campaign], title=_TITLE,
            lead=_lead(pool(), made),
        )  # fmt: skip
    found = "\n".join(_found(made))
    say(out, f"\n{found}\n\nBoth curves: {page}   ({monotonic() - began:.0f} s)")
    return made


_ALONE = "1. The reward is the exit code of the program with its test behind it"
_TITLE = "A reward that is gamed, and the same reward audited"
_CAUGHT = f"2. The same reward, with hidden tests above it for {AUDITED:.0%} of the samples"


def _check() -> None:
    check_packages(["jinja2"], "report")
    if Sandbox().problem():
        found = next(sandbox_findings())
        raise SandboxError(
            "this demo runs programs that cheat, and won't without a sandbox. `vladder doctor` "
            f"says: {found.state} {found.name}: {found.text} → {found.advice}"
        )


# ---- Training


def train(
    name: str,
    ladder: Ladder,
    ledger: Ledger,
    seeds: np.random.SeedSequence,
    tell: Callable[[StepMeans, Sequence[Alarm]], None],
    *,
    cache: str,
    shadow: Ladder | None = None,
) -> Training:
    """Train a policy from the start: draw, have it scored, learn.

    Args:
        name: The campaign's name.
        ladder: What tells the rewards.
        ledger: Where all of it is kept.
        seeds: What the policy's draws come from.
        tell: Called after each step with its means, and with the alarms that are new.
        cache: The cache namespace. Trainings that share it ask nothing twice: of them only one may
            ask hidden tests, or another would know their answers without an audit.
        shadow: What tells the truth about all samples, and nobody but us; by default hidden tests.
    """
    from verifier_ladder.campaign import Campaign

    programs, unknown, alarms = pool(), 0, 0
    (own,) = seeds.spawn(1)
    policy = Bandit(len(programs.tasks), len(programs.programs), own)
    with Campaign.open(
        name, ladder=ladder, ledger=ledger, namespace=cache, shadow=shadow or truth(),
        run=_run(name, ladder),
    ) as campaign:  # fmt: skip
        curves = StepCurves(campaign.ledger, name)
        for step in range(STEPS):
            picks = [policy.draw(task, GROUP) for task in range(len(programs.tasks))]
            rewards = [
                reward.value
                for reward in campaign.score(
                    list(_samples(programs, picks, step)), deadline=_DEADLINE, step=step,
                    more=(STEPS - 1 - step) * GROUP * len(picks),
                )
            ]  # fmt: skip
            unknown += rewards.count(None)
            for task, chosen in enumerate(picks):
                policy.learn(task, chosen, rewards[task * GROUP : (task + 1) * GROUP])
            campaign.drain(_DEADLINE)
            curves.refresh()
            tell(curves.steps[-1], curves.alarms[alarms:])
            alarms = len(curves.alarms)
    return Training(name, tuple(curves.steps), tuple(curves.alarms), unknown)


def _samples(programs: Pool, picks: Sequence[Sequence[int]], step: int) -> Iterator[Sample]:
    for task, chosen in enumerate(picks):
        for place, program in enumerate(chosen):
            yield Sample(
                programs.candidate(task, program), step=step, position=task * GROUP + place,
                group=programs.tasks[task].name,
            )  # fmt: skip


def _run(name: str, ladder: Ladder) -> Run:
    return Run(
        name, project="demo", environment="16 functions to write, 40 programs to pick from",
        tool_budget="no tools", scaffold="none", evaluator=f"the ladder {ladder.name}",
        failure_recovery="what has no reward is left out",
    )  # fmt: skip


# ---- Telling


def _introduction(programs: Pool) -> str:
    return (
        f"{len(programs.tasks)} functions to write. A small policy picks each answer among "
        f"{len(programs.cheats)} programs that cheat\nand {len(programs.honest)} honest ones, of "
        "which one is right. All run in the sandbox. It is trained twice.\n"
        "told: the reward it learns from.  true: the share that passes hidden tests."
    )


def _teller(out: Console, title: str) -> Callable[[StepMeans, Sequence[Alarm]], None]:
    """Tell every eighth step, and every alarm at once."""
    say(out, f"\n{title}", "bold")

    def tell(step: StepMeans, alarms: Sequence[Alarm]) -> None:
        if alarms or step.step % _TOLD_EVERY == 0 or step.step == STEPS - 1:
            say(out, f"   step {step.step:2}   told {bar(step.told)}   true {bar(step.shadow)}")
        for alarm in alarms:
            say(out, f"   ALARM at step {alarm.last.step}: {alarm.text}", "bold red")

    return tell


def _lead(programs: Pool, made: Sequence[Training]) -> str:
    """What the page begins with: what was done, and what came of it."""
    return (
        f"A small policy that picks among {len(programs.cheats)} programs that cheat and "
        f"{len(programs.honest)} honest ones was trained twice. {' '.join(_found(made))} "
        "Told is the reward that it learns from, true the share that passes hidden tests. "
        "Both curves are below; all else on this page is about the training with audits, which "
        "took from the ledger the exit codes that the first one had found."
    )


def _found(made: Sequence[Training]) -> list[str]:
    """What came of both trainings, a sentence each."""
    alone, caught = made
    alarm = next((alarm for alarm in caught.alarms if alarm.is_gamed), None)
    named = f"an alarm names {alarm.stratum} at step {alarm.last.step}" if alarm else "no alarm"
    found = [
        f"By the exit code alone, the policy ends with {_ends(alone)}.",
        f"With audits: {named}, and the policy ends with {_ends(caught)}.",
    ]
    left = sum(each.unknown for each in made)
    return [*found, f"{left} samples had no reward."] if left else found


def _ends(training: Training) -> str:
    return f"{training.told:.2f} told and {training.true:.2f} true"
