"""The demo of a market: forecasts that are sealed before a price is told, and who looks first.

A process tells prices live. Forecasts of the price at a horizon are sealed before it; then one
waits for the price and another copies the best of those that were in time. All of it happens:
nothing waits but for the price, and no clock is moved.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count, pairwise
from math import isclose
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast
from uuid import uuid4

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.cost import Cost
from verifier_ladder.demo.prices import KNOWN
from verifier_ladder.demo.running import check_packages, make_folder
from verifier_ladder.errors import ConfigError, EngineError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.offline import check_proof, read_checkpoint
from verifier_ladder.ledger.proof import find_records, prove
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.reward import Reward, RewardRule
from verifier_ladder.run import Run
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.target import Target
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.world.forecast import Normal, NumericForecast
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from verifier_ladder.campaign import Campaign

LEDGER = Path("demo-output") / "market.db"
SECONDS, EVERY = 20.0, 0.5
"""How far away the horizon is, and how often a price is told."""
UNIT, WORST = "EUR", 10.0
"""A forecast that is off by this much, or more, earns nothing."""
FARTHEST: Final = 600.0
"""How far away the horizon may be on a machine that is busy."""
PATIENCE: Final = 90.0
"""Seconds that the price may take to arrive, and its settlement."""
_POLL = 0.1
_CLOSE = 1e-9


_READER: Final = NumericForecast()
REWARD: Final = RewardRule(low=WORST, high=0.0)


class DistanceFromLast(SingleVerifier):
    """What a forecast would be off by if the price did not move: all that is known by then."""

    name = "distance-from-last"
    version = "1"
    tier = Tier.FAST
    kind = "text"
    domain = "forecasting"
    unit = UNIT
    cost = Cost(seconds=2e-5)
    deviation = 2.0
    same_quantity = True
    task_fields = ("last",)

    def examine(self, candidate: Candidate) -> Verdict:
        """Compare it with the last price that was told when it was made."""
        said = _READER.forecast(candidate)
        return Verdict.accept(said.score(float((candidate.task or {})["last"])), unit=UNIT)


def market_ladder(folder: Path) -> Ladder:
    """What the last price says at once, and what the price itself says later."""
    return Ladder(
        "market", [DistanceFromLast(), NumericForecast(folder=str(folder), unit=UNIT)],
        policy=AllTiers(), target=Target("error of the forecast", UNIT, "minimise"),
        reward=REWARD,
    )  # fmt: skip


# ---- Prices


class Price(NamedTuple):
    """A price as it was told."""

    time: float
    value: float
    published: float
    vintage: str


UNTOLD: Final = Price(0.0, 0.0, 0.0, "")


class Prices:
    """A process that tells prices, and what it has told so far."""

    def __init__(self, table: Path, seed: int, every: float) -> None:
        """Start it, and wait for what is known at the beginning."""
        command = [sys.executable, "-m", "verifier_ladder.demo.prices", str(table)]
        self._process = subprocess.Popen(  # noqa: S603 - a command of our own
            [*command, "--seed", str(seed), "--every", str(every)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._asks = cast("IO[str]", self._process.stdin)
        self._tells = cast("IO[str]", self._process.stdout)
        self.told: list[Price] = []
        for _ in range(KNOWN):
            self._next()

    def _next(self) -> Price:
        """The next that is told.

        Raises:
            EngineError: If the process has ended.
        """
        if not (line := self._tells.readline()):
            raise EngineError("the process that tells prices has ended; run the demo again")
        at, value, published, vintage = line.strip().split(",")
        self.told.append(Price(float(at), float(value), float(published), vintage))
        return self.told[-1]

    def known(self, now: float) -> list[Price]:
        """What was told up to a time."""
        while self.told[-1].time < now - EVERY:
            self._next()
        return [price for price in self.told if price.published <= now]

    def first(self, at: float) -> Price:
        """Wait for the first price at a time or later."""
        while (found := next((p for p in self.told if p.time >= at), None)) is None:
            self._next()
        return found

    def corrected(self, price: Price) -> Price:
        """Have a price told once more, corrected."""
        self._asks.write(f"{price.time!r}\n")
        self._asks.flush()
        while (told := self._next()).vintage == price.vintage:
            pass
        return told

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def telling(table: Path, seed: int, every: float) -> Iterator[Prices]:
    """Have prices told as long as this lasts."""
    prices = Prices(table, seed, every)
    try:
        yield prices
    finally:
        prices.close()


# ---- What came of it


@dataclass
class Forecaster:
    """Somebody who forecasts, and what came of it."""

    name: str
    says: str
    sample: Sample
    before: Reward | None = None
    """What was told before the price; None for who came later."""
    settled: Reward | None = None
    """What was told once the price was."""
    after: Reward | None = None
    """What was told last."""
    came: float = 0.0
    """Seconds after the horizon; less than 0 if it was before."""

    @property
    def pays(self) -> float:
        """What it earns in the end; 0 where that is nothing or not known."""
        return (self.after and self.after.value) or 0.0

    @property
    def forecast(self) -> Normal:
        """What is forecast.

        Raises:
            CandidateError: If that is nothing.
        """
        return _READER.forecast(self.sample.candidate)

    def error(self, price: Price) -> float:
        """How far off it is."""
        return self.forecast.score(price.value)


class Seal(NamedTuple):
    """What proves that forecasts were written before the price."""

    entry: int
    sha256: str
    """Hash of the entry in the log."""
    recorded: float
    """When the entry was recorded."""
    size: int
    """Entries under the published checkpoint."""
    time: str
    """When the last of these was recorded."""
    key: str
    note: str
    """The published checkpoint."""


@dataclass
class Market:
    """What came of a run of the demo."""

    campaign: str
    horizon: float = 0.0
    forecasters: list[Forecaster] = field(default_factory=list)
    price: Price = UNTOLD
    correction: Price = UNTOLD
    seal: Seal | None = None
    told: Sequence[Price] = ()
    claims: dict[str, bool] = field(default_factory=dict)
    """What this page claims, and whether it was so."""

    @property
    def honest(self) -> list[Forecaster]:
        """Who forecast before the price."""
        return [one for one in self.forecasters if one.before is not None and one.before.pending]

    @property
    def best(self) -> Forecaster:
        """Who was paid most when the price came."""
        return max(self.honest, key=lambda one: (one.settled and one.settled.value) or 0.0)

    @property
    def is_sealed(self) -> bool:
        """Whether the entry and the checkpoint over it are older than the horizon."""
        if self.seal is None:
            return False
        last = datetime.fromisoformat(self.seal.time).timestamp()
        return max(self.seal.recorded, last) < self.horizon

    def as_json(self) -> dict[str, Any]:
        """The run, for programs."""
        return {
            "campaign": self.campaign, "horizon": self.horizon,
            "price": self.price.value, "correction": self.correction.value,
            "forecasters": [
                {
                    "name": one.name, "says": one.says, "came": one.came,
                    "before": one.before and one.before.value,
                    "settled": one.settled and one.settled.value,
                    "after": one.after and one.after.value,
                    "reason": one.after.reason if one.after else "",
                }
                for one in self.forecasters
            ],
            "seal": self.seal and self.seal._asdict(), "claims": self.claims,
        }  # fmt: skip


# ---- The run


def run_market(
    *,
    ledger: str | Path = LEDGER,
    report: str | Path | None = None,
    console: Console | None = None,
    seed: int | None = None,
    seconds: float = SECONDS,
    every: float = EVERY,
) -> Market:
    """Seal forecasts, wait for the price, try to look first, and write the report.

    Where the machine is too busy to seal the forecasts in time, they are made anew for a horizon
    twice as far away.

    Args:
        ledger: Where the ledger lies, or will lie.
        report: Where the HTML report goes; next to the ledger if left out.
        console: Where to print; standard output if left out.
        seed: Of the prices and the forecasts; another one each time if left out.
        seconds: How far away the horizon is.
        every: Seconds between two prices.

    Returns:
        What came of it. `claims` says whether each thing happened that should.

    Raises:
        ConfigError: If a package is missing, or the report can't be written there.
        EngineError: If the price, or its settlement, does not come.

    Example:
        >>> found = run_market()  # doctest: +SKIP
        >>> all(found.claims.values())  # doctest: +SKIP
        True
    """
    from rich.console import Console

    from verifier_ladder.campaign import Campaign
    from verifier_ladder.demo import marketpage
    from verifier_ladder.ledger import open_ledger

    check_packages(["jinja2"], "report")
    out, began = console or Console(), time.monotonic()
    page = Path(report) if report else Path(ledger).with_name("market.html")
    made = Market(f"market-{uuid4().hex[:6]}")
    table = Path(ledger).with_name("market-prices") / f"{made.campaign}.csv"
    for folder in (page.parent, table.parent):
        make_folder(folder)
    chance = Random(seed)  # noqa: S311 - forecasts, not secrets
    marketpage.introduce(out, seconds)
    ladder = market_ladder(table.parent.resolve())
    with open_ledger(ledger) as store, telling(table, chance.randrange(2**32), every) as prices:
        if not isinstance(store, SqlLedger):
            raise ConfigError("the demo's forecasts are sealed in a ledger on disk; name a file")
        with Campaign.open(made.campaign, ladder=ladder, ledger=store, run=_run()) as campaign:
            _seal(made, campaign, store, prices, chance, seconds=seconds)
            marketpage.publish(made, page)
            marketpage.tell_sealed(out, made)
            made.price = prices.first(made.horizon)
            marketpage.tell_price(out, made.price)
            _send_late(made, campaign, "looks first", _in_words(made.price))
            _settle(made, campaign)
            _send_late(made, campaign, f"copies “{made.best.name}”", made.best.says)
            _settle(made, campaign)
            made.correction = prices.corrected(made.price)
            _correct(made, campaign)
            made.claims = _claims(made, campaign, store)
        made.told = prices.told
    marketpage.write(made, page, str(ledger))
    marketpage.sum_up(out, made, page, time.monotonic() - began)
    return made


def _run() -> Run:
    return Run(
        "market", project="demo", environment="one price, told live",
        tool_budget="no tools", scaffold="none", evaluator="the ladder market",
        failure_recovery="what has no reward is left out",
    )  # fmt: skip


def forecasts(prices: Sequence[Price], chance: Random) -> Mapping[str, str]:
    """What each forecaster says who knows these prices and no others."""
    values = [price.value for price in prices]
    steps = [after - before for before, after in pairwise(values)]
    last, spread = values[-1], stdev(steps) * 6
    return {
        "stays": f"It stays: <answer>{last:.2f} ± {spread:.2f}</answer>",
        "goes on": f"It goes on: <answer>{last + 10 * fmean(steps[-10:]):.2f}</answer>",
        "comes back": f"It comes back: <answer>{fmean(values):.2f} ± {2 * spread:.2f}</answer>",
        "guesses": f"I feel <answer>{last + chance.choice((-1, 1)) * 7:.2f}</answer>.",
        "only talks": "It rises.",
    }


def _seal(
    made: Market,
    campaign: Campaign,
    store: SqlLedger,
    prices: Prices,
    chance: Random,
    *,
    seconds: float,
) -> None:
    """Have forecasts sealed before their horizon, and publish the checkpoint over them.

    Raises:
        EngineError: If the machine is too busy for that.
    """
    for step in count():
        now, ahead = time.time(), seconds * 2**step
        if step and ahead > FARTHEST:
            raise EngineError("this machine is too busy to seal forecasts in time; try later")
        known = prices.known(now)
        made.horizon = now + ahead
        task = {"series": made.campaign, "horizon": made.horizon, "last": known[-1].value}
        made.forecasters = [
            _forecaster(name, says, task, step, place)
            for place, (name, says) in enumerate(forecasts(known, chance).items())
        ]
        samples = [one.sample for one in made.forecasters]
        for one, reward in zip(made.forecasters, campaign.score(samples), strict=True):
            one.before, one.came = reward, time.time() - made.horizon
        campaign.drain(PATIENCE)  # The cases are opened.
        made.seal = _sealed(store, campaign, store.signed()[0], samples[0])
        if made.is_sealed and not any(map(_is_late, _told(campaign, samples))):
            return


def _is_late(reward: Reward) -> bool:
    return reward.reason.startswith("late")


def _forecaster(
    name: str, says: str, task: Mapping[str, Any], step: int, place: int
) -> Forecaster:
    sample = Sample(Candidate("text", says, task), run="market", step=step, position=place)
    return Forecaster(name, says, sample)


def _sealed(store: SqlLedger, campaign: Campaign, note: str, sample: Sample) -> Seal:
    """The proof that a sample stands under a published checkpoint, checked as outsiders do."""
    entry = store.recorded(campaign.name, sample.run, sample.step)[sample.position].entry
    records = find_records(store, entry, position=sample.position)
    proof = prove(store, entry, records, under=note)
    found = check_proof(proof)
    leaf = next(iter(store.leaves(after=proof["index"] - 1, until=proof["index"] + 1)))
    return Seal(
        entry, leaf.entry.leaf.hex(), float(found.head["recorded_at"]), found.checkpoint.size,
        read_checkpoint(note).time, str(found.key), note,
    )  # fmt: skip


def _told(campaign: Campaign, samples: Sequence[Sample]) -> list[Reward]:
    """What is told of samples by now: one that is known keeps its reward."""
    return campaign.score(samples)


def _final(campaign: Campaign, samples: Sequence[Sample]) -> list[Reward]:
    """Wait until nothing more is to come of samples.

    Raises:
        EngineError: If that takes too long.
    """
    until = time.monotonic() + PATIENCE
    while True:
        told = _told(campaign, samples)
        if not any(reward.pending for reward in told):
            return told
        if time.monotonic() > until:
            raise EngineError(f"the market was not settled in {PATIENCE:g} s; run the demo again")
        campaign.drain(_POLL)
        time.sleep(_POLL)


def _in_words(price: Price) -> str:
    return f"I know: <answer>{price.value:.2f}</answer>"


def _send_late(made: Market, campaign: Campaign, name: str, says: str) -> None:
    """Send what can be known only now."""
    first, place = made.forecasters[0].sample, len(made.forecasters)
    one = _forecaster(name, says, first.candidate.task or {}, first.step, place)
    one.came = time.time() - made.horizon
    campaign.score([one.sample])
    made.forecasters.append(one)


def _settle(made: Market, campaign: Campaign) -> None:
    """Wait until all that was sent is settled by the price, or refused."""
    rewards = _final(campaign, [one.sample for one in made.forecasters])
    for one, reward in zip(made.forecasters, rewards, strict=True):
        one.settled = one.after = reward


def _correct(made: Market, campaign: Campaign) -> None:
    """Settle by the corrected price, as for every feed that tells otherwise later."""
    campaign.resettle()
    rewards = _final(campaign, [one.sample for one in made.forecasters])
    for one, reward in zip(made.forecasters, rewards, strict=True):
        one.after = reward


# ---- What it claims


def _claims(made: Market, campaign: Campaign, store: SqlLedger) -> dict[str, bool]:
    """What should have happened, and whether it did."""
    *early, looks, copies = made.forecasters
    revised = {revision.position for revision in campaign.revisions()}
    kept = _told(campaign, [made.best.sample])[0]
    return {
        "Every forecast had a reward at once, and waited for the price":
            len(made.honest) == len(early) - 1,
        "What was no forecast was rejected before the price":
            not early[-1].pays and not _is_late(early[-1].after or Reward(None)),
        "Their entry, and the checkpoint over it, are older than the price":
            made.is_sealed and made.horizon <= made.price.time,
        "Each was paid by its distance from the price":
            all(_is_due(one, one.settled, made.price) for one in made.honest),
        "The corrected price revised what each was paid":
            all(_is_due(one, one.after, made.correction) for one in made.honest)
            and {one.sample.position for one in made.honest} <= revised,
        "Who looked first was right, late, and got nothing":
            _got_nothing(looks) and looks.says == _in_words(made.price),
        "The late copy got nothing": _got_nothing(copies) and copies.says == made.best.says,
        "The forecast that was copied kept its reward":
            made.best.after is not None and kept.value == made.best.after.value,
        "The ledger's history is what was signed": store.verify().is_intact,
    }  # fmt: skip


def _is_due(one: Forecaster, told: Reward | None, price: Price) -> bool:
    """Whether a reward is what the distance from a price says."""
    if told is None or told.value is None:
        return False
    return isclose(told.value, REWARD.scale(one.error(price)), abs_tol=_CLOSE)


def _got_nothing(one: Forecaster) -> bool:
    told = one.after
    return told is not None and told.value == 0.0 and _is_late(told)
