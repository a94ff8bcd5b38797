"""The demo of a crystal: the same search twice, by a force field without a gate and with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.demo.crystals import (
    GROUP,
    NOTHING,
    REWARD,
    Energies,
    ForceField,
    Proposal,
    Search,
    energies,
    gated,
    stability,
    truth,
    ungated,
)
from verifier_ladder.demo.running import check_packages, make_folder
from verifier_ladder.demo.telling import quiet
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.reward import Reward
from verifier_ladder.run import Run
from verifier_ladder.spending import Spending, spending
from verifier_ladder.summary.steps import StepCurves, StepMeans
from verifier_ladder.tiers.fast.crystalgate import CrystalGate

if TYPE_CHECKING:
    from rich.console import Console

    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.scheduler.drift import Alarm

LEDGER = Path("demo-output") / "crystal.db"
STEPS = 14
LAST = 5
"""Generations at the end that are averaged."""
SHOWN = 0.3
"""Å. Of the impossible pairs that are paid most, the one nearest to this is shown."""
_DEADLINE = 120.0
"""Seconds that a generation may wait for its audits."""
_CLOSE = 0.02
Tell = Callable[["Generation", Sequence["Alarm"]], None]


class Generation(NamedTuple):
    """What was said of the crystals of one generation, in the mean."""

    step: int
    pays: float | None
    """What the force field would have them paid by itself, where it is known; what the gate
    rejects is paid 0."""
    told: float | None
    """What the search was told: corrected by audits."""
    true: float | None
    """What they earn where cores repel each other."""
    impossible: int
    """How many of them break the gate's bound."""
    unknown: int = 0
    """How many had no answer of the force field."""


class Paid(NamedTuple):
    """A crystal, and what the force field has it paid."""

    crystal: Proposal
    reward: float

    @property
    def rank(self) -> tuple[float, float]:
        """The more it is paid the better, and then the nearer to the distance that is shown."""
        return self.reward, -abs(self.crystal.contact.distance - SHOWN)


@dataclass
class Trial:
    """What came of one search."""

    campaign: str
    generations: list[Generation] = field(default_factory=list)
    alarms: Sequence[Alarm] = ()
    costs: Mapping[str, Spending] = field(default_factory=dict)
    """By verifier."""
    best: Paid | None = None
    """What the force field pays most."""
    possible: float = 0.0
    """What it pays most of what the gate lets pass."""
    let_through: int = 0
    """Crystals that break the gate's bound, and of which the force field was asked."""
    at_rest: Reward | None = None
    """What the ladder of stability says of the best."""

    @property
    def impossible(self) -> int:
        """How many crystals broke the gate's bound."""
        return sum(each.impossible for each in self.generations)

    @property
    def unknown(self) -> int:
        """How many crystals had no answer of the force field."""
        return sum(each.unknown for each in self.generations)

    @property
    def alarm(self) -> Alarm | None:
        """The first that says that the force field is gamed."""
        named = (a for a in self.alarms if a.is_gamed and a.stratum == ForceField.name)
        return next(named, None)

    @property
    def crowded(self) -> Generation:
        """The generation with the most impossible crystals."""
        return max(self.generations, key=lambda each: each.impossible)

    def mean(self, name: str) -> float:
        """What its last generations have of something, in the mean; NaN where nothing is known."""
        known = [getattr(each, name) for each in self.generations[-LAST:]]
        known = [value for value in known if value is not None]
        return fmean(known) if known else nan

    def cost(self, verifier: str) -> float:
        """Seconds of processor time of one check; 0 where there was none."""
        found = self.costs.get(f"{verifier} 1")
        return _seconds(found) / found.checks if found and found.checks else 0.0

    def as_json(self) -> dict[str, Any]:
        """The search, for programs."""
        return {
            "campaign": self.campaign, "impossible": self.impossible,
            "let_through": self.let_through,
            "steps": [each._asdict() for each in self.generations],
            "alarms": [alarm.text for alarm in self.alarms],
            "costs": {
                name: {"checks": spent.checks, "seconds": _seconds(spent)}
                for name, spent in self.costs.items()
            },
            "best": self.best and {
                "content": self.best.crystal.text, "reward": self.best.reward,
                "distance": self.best.crystal.contact.distance,
            },
        }  # fmt: skip


@dataclass
class Pair:
    """Both searches, and what is claimed of them."""

    ungated: Trial
    gated: Trial
    found: Energies = NOTHING
    """Of the best crystal of the search without a gate."""
    claims: Mapping[str, bool] = field(default_factory=dict)

    @property
    def both(self) -> tuple[Trial, Trial]:
        """Without the gate, and with it."""
        return self.ungated, self.gated

    def as_json(self) -> dict[str, Any]:
        """The run, for programs."""
        return {
            "ungated": self.ungated.as_json(), "gated": self.gated.as_json(),
            "energies": self.found._asdict(), "claims": dict(self.claims),
        }  # fmt: skip


def run_crystal(
    *,
    ledger: str | Path = LEDGER,
    report: str | Path | None = None,
    console: Console | None = None,
    seed: int | None = None,
) -> Pair:
    """Search for a stable alloy twice, without the gate and with it, and write the page.

    Both searches begin alike. The first finds atoms that a force field draws together, until
    audits catch it; from the second the gate keeps them.

    Args:
        ledger: Where the ledger lies, or will lie.
        report: Where the page goes; next to the ledger if left out.
        console: Where to print; standard output if left out.
        seed: Of the search's draws; another one each time if left out.

    Returns:
        What came of both. `claims` says whether each thing happened that should.

    Raises:
        ConfigError: If a package is missing, or the page can't be written there.

    Example:
        >>> found = run_crystal()  # doctest: +SKIP
        >>> all(found.claims.values())  # doctest: +SKIP
        True
    """
    from rich.console import Console

    from verifier_ladder.demo import crystalpage
    from verifier_ladder.ledger import open_ledger

    check_packages(["ase", "spglib", "jinja2"], "materials,report")
    out, began, name = console or Console(), monotonic(), uuid4().hex[:6]
    page = Path(report) if report else Path(ledger).with_name("crystal.html")
    make_folder(page.parent)
    draws = int(np.random.SeedSequence(seed).generate_state(1)[0])
    crystalpage.introduce(out)
    with open_ledger(ledger) as store, quiet():
        first = search(f"crystal-ungated-{name}", ungated(), store, draws, crystalpage.first(out))
        second = search(f"crystal-gated-{name}", gated(), store, draws, crystalpage.second(out))
        made = Pair(first, second)
        settle(made, store, f"crystal-stability-{name}")
    crystalpage.write(made, page, str(ledger))
    crystalpage.sum_up(out, made, page, monotonic() - began)
    return made


# ---- The search


def search(name: str, ladder: Ladder, ledger: Ledger, draws: int, tell: Tell) -> Trial:
    """Search from the start: propose, have it scored, learn.

    Args:
        name: The campaign's name; its cache is its own, so that no search knows of another's
            audits.
        ladder: What tells the rewards.
        ledger: Where all of it is kept.
        draws: What the search draws by.
        tell: Called after each generation with its means, and with the alarms that are new.
    """
    from verifier_ladder.campaign import Campaign

    made, own = Trial(name), Search(draws)
    with Campaign.open(
        name, ladder=ladder, ledger=ledger, namespace=name, shadow=truth(), run=_run(name, ladder)
    ) as campaign:
        curves = StepCurves(campaign.ledger, name)
        for step in range(STEPS):
            rewards = campaign.score(
                [_sample(crystal, step, place) for place, crystal in enumerate(own.crystals)],
                deadline=_DEADLINE, step=step, more=(STEPS - 1 - step) * GROUP,
            )  # fmt: skip
            campaign.drain(_DEADLINE)
            curves.refresh()
            told = len(made.alarms)
            made.alarms = tuple(curves.alarms)
            means = next((each for each in curves.steps if each.step == step), None)
            note(made, own.crystals, rewards, means, step)
            tell(made.generations[-1], made.alarms[told:])
            own.learn([reward.value for reward in rewards])
    made.costs = {each.name: each for each in spending(ledger, "verifier", campaign=name)}
    return made


def _sample(crystal: Proposal, step: int, place: int) -> Sample:
    return Sample(Candidate("crystal", crystal.text), step=step, position=place)


def _run(name: str, ladder: Ladder) -> Run:
    return Run(
        name, project="demo", environment="alloys of aluminium and platinum",
        tool_budget="no tools", scaffold="an evolutionary search",
        evaluator=f"the ladder {ladder.name}",
        failure_recovery="what has no reward is left out",
    )  # fmt: skip


def note(
    made: Trial,
    crystals: Sequence[Proposal],
    rewards: Sequence[Reward],
    means: StepMeans | None,
    step: int,
) -> None:
    """Keep what was said of a generation; what has no answer of the force field is left out."""
    told = [(crystal, _pays(reward)) for crystal, reward in zip(crystals, rewards, strict=True)]
    paid = [Paid(crystal, value) for crystal, value in told if value is not None]
    possible = [each.reward for each in paid if each.crystal.contact.is_possible]
    made.generations.append(Generation(
        step, fmean(each.reward for each in paid) if paid else None,
        means and means.told, means and means.shadow,
        sum(not crystal.contact.is_possible for crystal in crystals), len(told) - len(paid),
    ))  # fmt: skip
    made.possible = max([made.possible, *possible])
    made.best = max([*filter(None, [made.best]), *paid], key=lambda each: each.rank, default=None)
    made.let_through += sum(
        not crystal.contact.is_possible and reward.components.get(ForceField.name) is not None
        for crystal, reward in zip(crystals, rewards, strict=True)
    )


def _pays(reward: Reward) -> float | None:
    """What the force field alone would pay: 0 for what the gate rejected; None if not known."""
    said = reward.components.get(ForceField.name)
    if said is not None:
        return REWARD.scale(said)
    return 0.0 if reward.is_rejected else None


# ---- What came of it


def settle(made: Pair, ledger: Ledger, name: str) -> None:
    """Look at the best of both searches, and at what is claimed."""
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.tiers.fast.crystal import crystal_of
    from verifier_ladder.tiers.fast.crystalgate import as_atoms

    best = [(trial, trial.best.crystal) for trial in made.both if trial.best is not None]
    ladder = stability()
    with Campaign.open(name, ladder=ladder, ledger=ledger, run=_run(name, ladder)) as own:
        samples = [_sample(crystal, 0, place) for place, (_, crystal) in enumerate(best)]
        for (trial, _), reward in zip(best, own.score(samples, deadline=_DEADLINE), strict=True):
            trial.at_rest = reward
    if made.ungated.best is not None:
        made.found = energies(as_atoms(crystal_of(made.ungated.best.crystal.text)))
    made.claims = _claims(made, ledger)


def _claims(made: Pair, ledger: Ledger) -> dict[str, bool]:
    """What should have happened, and whether it did."""
    first, second = made.both
    return {
        "Without the gate, what the force field pays most is an impossible crystal":
            first.best is not None and not first.best.crystal.contact.is_possible
            and first.best.reward > first.possible,
        "Cores repel each other there by more than the force field gains":
            made.found.field < 0 < sum(made.found),
        "Most of a generation was impossible": first.crowded.impossible > GROUP / 2,
        f"Audits caught it: an alarm names {ForceField.name}": first.alarm is not None,
        "After the alarm the search was told the truth":
            abs(first.mean("told") - first.mean("true")) < 10 * _CLOSE,
        "With the gate, the force field was asked of no impossible crystal":
            second.impossible > 0 == second.let_through,
        "What it pays there is what audits find":
            abs(second.mean("pays") - second.mean("true")) < _CLOSE,
        "With the gate no alarm says that it is gamed": second.alarm is None,
        "A look by the gate costs less than one by the force field":
            0 < second.cost(CrystalGate.name) < second.cost(ForceField.name),
        "The best crystal behind the gate has an energy at rest; the other is rejected":
            _is_at_rest(second.at_rest) and (first.at_rest or Reward(None)).is_rejected,
        "The ledger's history is what was signed":
            not isinstance(ledger, SqlLedger) or ledger.verify().is_intact,
    }  # fmt: skip


def _is_at_rest(reward: Reward | None) -> bool:
    return reward is not None and reward.value is not None and not reward.is_rejected


def _seconds(spent: Spending | None) -> float:
    from verifier_ladder.resource import Resource

    return 0.0 if spent is None else spent.spent(Resource.CPU_SECONDS)
