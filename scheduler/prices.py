"""Shadow prices: what a budget makes each resource worth, so that it lasts until the horizon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from verifier_ladder.arrays import Flags, Floats, NDArray
from verifier_ladder.budget import TOTAL
from verifier_ladder.decision import EscalationPolicy, Situation
from verifier_ladder.ledger.records import Account, CheckRow
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.outlook import Outlook, priced
from verifier_ladder.tier import Tier

Place = tuple[int, int]
"""An account: tier or `TOTAL`, and resource."""

AT_LEAST = 1024
"""Samples that a campaign without a horizon expects still to come, at the least."""
AUDITS = 0.15
"""Largest share of the budget, and of the samples, that random audits get by themselves."""
_EVERY = 256
"""Samples between two searches for better prices."""
_SWEEPS, _ALIKE = 6, 1.1
"""How often prices of several accounts are sought in turn, until they change by less than this."""
_FADING = 0.9
_INERTIA = 128.0
"""How many samples' worth of spend the ratio of asked to planned starts with."""
_FARTHEST = 2.0
"""How far that ratio may be from 1."""
_DOUBT = 32.0
"""How many rows what was found before is worth, so that a few which take nearly all don't swing
the price."""
_STEP, _FINE = 1.3, 1.02
"""First step of a search and how exactly a price is found, both as factors."""
_FINER = 1.001
"""The same below the top: there a price decides who is asked, not with what chance; and prices
that differ by a tenth for all must not pass a fifth of them at once."""
_HALVINGS = 20
"""More than any two finite prices need; one that is beyond counting ends the search too."""
_HIGHEST = 1e12
"""The price of what is spent, in units of one over the usual cost."""
_FIRST = 3.0
"""What a check of the top tier costs at first in a search, in deviations of the target; prices are
halved whenever nothing is worth them."""
_UNEVEN, _GOLDEN = 0.1, 0.6180339887498949
"""Prices differ by a tenth from sample to sample, in the order of the golden section: of samples
that are all alike some are then worth their cost, where it would be all of them or none."""


class Prices:
    """Prices of a campaign's accounts, found so that its spend meets its budget at the horizon.

    An account without a cap has price 0, and so has one that can pay for everything. Otherwise
    the price is a level over what is left for each row still to come: so all that came otherwise
    than expected is made up for, evenly. The level is the price at which the policy, asked about
    samples that were decided lately, would spend just that, times that. Each search moves it, in
    logarithms, by n/(n + 32), where n counts the rows among which the spend is spread. Where
    half of it lies in a few rows, what the last rows would have spent says little, and a price
    that followed it would swing by factors. (A dual method for online knapsacks: Balseiro, Lu and
    Mirrokni, *The Best of Many Worlds*, 2023, with the step of the price replaced by a search.)

    Prices are a pure function of what was observed, in order.
    """

    def __init__(
        self,
        policy: EscalationPolicy,
        tiers: Sequence[Tier],
        *,
        audit: float | None = None,
        horizon: int | None = None,
    ) -> None:
        """Begin with nothing seen.

        Args:
            policy: The policy that reacts to prices.
            tiers: The ladder's tiers.
            audit: Share of the samples whose climb stops that the top tier verifies all the same,
                as far as 15 % of the budget pays for them; None for as many as that pays for.
            horizon: How many samples are expected in all. Without it, those that the caller says
                will follow; where he doesn't know, as many again as were seen, and at least 1024.
        """
        self.horizon = horizon
        self._more: int | None = None
        """How many samples follow those that came last; None where nobody knows."""
        self._latest = 0
        """How many samples came last."""
        self._is_end = False
        """Whether the caller has said that nothing follows."""
        self.floor = audit or 0.0
        """Least probability with which the top tier is asked where a climb stops."""
        self._tiers, self._audit = tuple(tiers), audit
        self._is_paced = not policy.is_sequential
        self._outlook = Outlook(policy, self._tiers)
        self._price: dict[Place, float] = {}
        self._found: dict[Place, float] = {}
        """The price that the last search found."""
        self._level: dict[Place, float] = {}
        """The price, times what each row may spend; as far as searches agree."""
        self._left: dict[Place, float] = {}
        self._pending: dict[bytes, tuple[int, tuple[float, ...]]] = {}
        self._promised: dict[bytes, tuple[float, ...]] = {}
        """What the top tier will take once a cheaper check has ended, by that check."""
        self._samples = self._rows = self._fresh = 0
        self._recent = np.zeros(2)
        """Samples that came lately, and rows that they made: one for each candidate."""
        self._goal: dict[Place, float] = {}
        """What the policy should spend on each row, in the mean, as far as can be foreseen."""
        self._foreseen: dict[Place, float] = {}
        self._asked: dict[Place, float] = {}

    # -- what is observed ------------------------------------------------------------------------

    def observe(
        self,
        situation: Situation,
        costs: Floats,
        samples: int,
        accounts: Sequence[Account],
        more: int | None = None,
    ) -> Floats:
        """Look at samples before they are decided, and price what asking about them would take.

        Args:
            situation: The samples; its cost and what it says of budgets are not read.
            costs: What asking each tier takes. Shape (n, tiers, resources).
            samples: How many new samples of the learner they stand for; 0 if their climb only
                goes on.
            accounts: The accounts as they stand.
            more: How many follow them in later calls, if there is no horizon; None where nobody
                knows. It counts only where `samples` does.

        Returns:
            The priced costs. Shape (n, tiers).
        """
        if samples:
            self._more, self._latest, self._is_end = more, samples, more == 0
        to_come = self._to_come(samples)
        turn = _GOLDEN * np.arange(self._rows, self._rows + len(costs)) % 1.0
        uneven = 1.0 + _UNEVEN * (turn - 0.5)
        dithered = costs * uneven[:, None, None]
        self._samples, self._rows = self._samples + samples, self._rows + len(costs)
        self.balance(accounts)
        is_last = self._is_last(samples)
        if samples:
            self._recent = self._recent * _FADING + [samples, len(costs)]
        left = self._open(situation.reached, self._top) if is_last else None
        if samples or is_last:
            self._fresh += len(costs)
            self._outlook.add(situation, dithered, self._rows, left=left)
        self.floor = self._least(to_come if left is None else left)
        if self._is_paced:
            if is_last:
                self._pace_last(situation.reached)
            elif samples or self._price.keys() != self._left.keys():
                self._pace(to_come, len(costs) if samples else 0)
        else:
            self._price = {
                place: self._price.get(place) or self._first(place) for place in self._left
            }
        return priced(dithered, self.rates)

    def _first(self, place: Place) -> float:
        """The price a search begins with: so high that only what looks excellent is bought."""
        usual = float(self._outlook.usual[-1, place[1]]) if len(self._outlook) else 0.0
        return _FIRST / usual if usual > 0.0 else 0.0

    def _to_come(self, samples: int) -> int:
        """How many samples are expected still to come, these among them."""
        if self.horizon is None and self._more is not None:
            return max(samples + self._more, 1)
        if self.horizon is None:
            return max(self._samples, AT_LEAST, samples)
        return max(self.horizon - self._samples, samples, 1)

    def balance(self, accounts: Sequence[Account]) -> None:
        """Find what each account with a cap has left for checks that nobody has asked for yet."""
        ours = {TOTAL, *map(int, self._tiers)}
        self._left = {
            (a.tier, int(a.resource)): a.cap - a.spent - a.kept
            for a in accounts
            if a.cap is not None and a.tier in ours
        }
        promised = ((self._top, amounts) for amounts in self._promised.values())
        for column, amounts in (*self._pending.values(), *promised):
            shares = {place: self._share(place, column, amounts) for place in self._left}
            # What an account can't pay is parked, and nobody spends it.
            if all(share <= self._left[place] for place, share in shares.items()):
                self._left = {place: left - shares[place] for place, left in self._left.items()}

    def _share(self, place: Place, column: int, amounts: Sequence[float]) -> float:
        """What of a check's cost an account pays."""
        tier, resource = place
        return amounts[resource] if tier in {TOTAL, int(self._tiers[column])} else 0.0

    def commit(self, check_key: bytes, column: int, cost: Sequence[float]) -> None:
        """Take note that a check was asked for; twice changes nothing.

        Args:
            check_key: The check.
            column: Column of its tier.
            cost: What it is expected to take of each resource.
        """
        if check_key not in self._pending:
            self._pending[check_key] = (column, tuple(cost))
            for place in self._asked:
                self._asked[place] += self._share(place, column, cost)

    def promise(self, check_key: bytes, cost: Sequence[float]) -> None:
        """Keep what the top tier will take of candidates whose draw was made ahead.

        Args:
            check_key: The check of a cheaper tier that has to end first.
            cost: What the top tier is expected to take: nothing where the draw did not fall.
        """
        had = self._promised.get(check_key, cost)
        self._promised[check_key] = tuple(map(max, had, cost))

    @property
    def promised(self) -> list[bytes]:
        """Checks of cheaper tiers for which candidates wait whose draw was made ahead."""
        return list(self._promised)

    def take_up(self, samples: int, checks: Iterable[CheckRow]) -> None:
        """Go on after a restart.

        Args:
            samples: How many samples came before.
            checks: What was asked for and has not ended.
        """
        columns = {int(tier): column for column, tier in enumerate(self._tiers)}
        self._samples = samples
        for check in checks:
            if check.tier in columns:  # Somebody may have changed the row.
                self.commit(check.check_key, columns[check.tier], check.reserve.amounts)

    def settle(self, check_key: bytes) -> None:
        """Take note that a check has ended, one way or another."""
        self._pending.pop(check_key, None)
        self._promised.pop(check_key, None)

    @property
    def to_follow(self) -> int:
        """How many samples are expected after those that came, as far as anybody knows."""
        if self.horizon is not None:
            return max(self.horizon - self._samples, 0)
        return self._samples if self._more is None else self._more

    def count(self, samples: int, more: int | None) -> None:
        """Take note of samples of which none can climb: they are samples all the same."""
        self._samples, self._more, self._latest = self._samples + samples, more, samples

    def expect_no_more(self) -> None:
        """Hear that somebody waits for all climbs to end: unless more was announced, this is all.

        What was announced keeps its share of the budget, whoever waits between two calls.
        """
        if self._more is None:
            self._more = 0

    # -- pacing ----------------------------------------------------------------------------------

    def _pace(self, to_come: int, rows: int) -> None:
        """Plan what the climbs of new rows may spend, and find new prices when it is time."""
        samples, decided = self._recent.tolist()
        per_row = 1.0 / (to_come * max(decided / max(samples, 1.0), 0.1))
        plan = {place: max(0.0, left) * per_row for place, left in self._left.items()}
        due = min(_EVERY, self._rows / 2, to_come / 8)  # The last samples have to come out even.
        if self._found.keys() != plan.keys() or self._fresh >= due:
            self._fresh = 0
            self._goal = {p: amount / self._ratio(p, amount) for p, amount in plan.items()}
            self._search(self._goal)
            self._learn(plan)
        self._price = {place: self._steered(place, amount) for place, amount in plan.items()}
        short = [place for place in plan if self._price[place] > 0.0]
        self._asked = {p: self._asked.get(p, 0.0) * _FADING for p in short}
        self._foreseen = {
            p: self._foreseen.get(p, 0.0) * _FADING + self._goal[p] * rows for p in short
        }

    def _is_last(self, samples: int) -> bool:
        """Whether every sample that can spend is known: nobody is expected to follow.

        The last of many calls before a horizon come out even by themselves.
        """
        if self.horizon is None:
            return self._more == 0
        return not samples and self._latest == self._samples >= self.horizon

    @property
    def is_all_known(self) -> bool:
        """Whether nobody is expected to follow, and none of the others waits below the top."""
        waits = any(column < self._top for column, _ in self._pending.values())
        return self._is_last(0) and not waits

    @property
    def is_over(self) -> bool:
        """Whether no samples are expected to follow, as the horizon or the caller has it."""
        return self._is_end if self.horizon is None else self._samples >= self.horizon

    def _open(self, reached: NDArray[np.int64], column: int) -> int:
        """How many rows can still ask a tier: of these, and of those that wait for one below.

        Those whose draw for the top tier was made ahead ask that no more.

        Args:
            reached: Column of the highest tier that has answered for each of these rows.
            column: Column of the tier.
        """
        waiting = sum(
            asked < column and not (column == self._top and key in self._promised)
            for key, (asked, _) in self._pending.items()
        )
        return max(1, int((reached < column).sum()) + waiting)

    @property
    def _top(self) -> int:
        return len(self._tiers) - 1

    def _last_payer(self, place: Place) -> int:
        """Column of the highest tier that an account pays for."""
        tier, resource = place
        if tier != TOTAL:
            return self._tiers.index(Tier(tier))
        (paid,) = self._outlook.usual[:, resource].nonzero()
        return int(paid[-1]) if len(paid) else self._top

    def _pace_last(self, reached: NDArray[np.int64]) -> None:
        """Share out what is left among the rows that can still ask: nothing is kept for others.

        What earlier rows have left, because they cost less or were worth less than expected, is
        there for the next; so a cap is spent, as far as anything is worth its price.
        """
        plan = {}
        for place, left in self._left.items():
            column = self._last_payer(place)
            share = self._outlook.share_below(column) or 1.0
            plan[place] = max(0.0, left) * share / self._open(reached, column)
        due = min(_EVERY, self._open(reached, self._top) / 8)
        if self._price.keys() != plan.keys() or self._fresh >= due:
            self._fresh, self._goal = 0, plan
            self._search(plan)
            self._learn(plan)

    def _ratio(self, place: Place, usual: float) -> float:
        """How much more is asked for than was foreseen: less, where checks are shared."""
        rest = usual * _INERTIA
        if rest <= 0.0:
            return 1.0
        ratio = (self._asked.get(place, 0.0) + rest) / (self._foreseen.get(place, 0.0) + rest)
        return min(max(ratio, 1.0 / _FARTHEST), _FARTHEST)

    def _search(self, plan: Mapping[Place, float]) -> None:
        """Find the prices at which the policy spends what is planned per row."""
        self._price = {place: self._price.get(place, 0.0) for place in plan}
        for _ in range(_SWEEPS):
            before = dict(self._price)
            for place, amount in plan.items():
                self._price[place] = self._solve(place, amount)
            if len(plan) == 1 or _is_alike(before, self._price):
                return

    def _learn(self, plan: Mapping[Place, float]) -> None:
        """Move the levels towards the prices that a search has found."""
        self._found = dict(self._price)
        amounts = self._outlook.amounts(self.rates, self.floor)
        for place, price in self._found.items():
            if price > 0.0 and plan[place] > 0.0:
                rows, found = _rows(self._paid(place, amounts)), price * plan[place]
                change = found / self._level.get(place, found)
                self._level[place] = found * change ** (-_DOUBT / (rows + _DOUBT))

    def _steered(self, place: Place, amount: float) -> float:
        """The price of an account that may spend so much on each row."""
        if self._found[place] <= 0.0:
            return 0.0
        highest = _HIGHEST / self._of(place, self._outlook.usual)
        return min(self._level[place] / amount, highest) if amount > 0.0 else highest

    def _solve(self, place: Place, amount: float) -> float:
        """The price of one account at which the policy spends the amount on it; 0 if less."""
        usual = self._of(place, self._outlook.usual)
        if usual <= 0.0 or self._spend(place, 0.0) <= amount:
            return 0.0
        low = high = self._price[place] or 1.0 / usual
        step = _STEP
        while high < _HIGHEST / usual and self._spend(place, high) > amount:
            low, high, step = high, high * step, step * step
        step = _STEP
        while low > 1.0 / (usual * _HIGHEST) and self._spend(place, low) <= amount:
            high, low, step = low, low / step, step * step
        fine = _FINE if self._last_payer(place) == self._top else _FINER
        for _ in range(_HALVINGS):
            if high <= low * fine:
                break
            middle = sqrt(low * high)
            low, high = (middle, high) if self._spend(place, middle) > amount else (low, middle)
        return high

    def _spend(self, place: Place, price: float) -> float:
        self._price[place] = price
        return self._of(place, self._outlook.spend(self.rates, self.floor))

    def _of(self, place: Place, amounts: Floats) -> float:
        """What an account pays of amounts of shape (tiers, resources)."""
        return float(self._paid(place, amounts[None])[0])

    def _paid(self, place: Place, amounts: Floats) -> Floats:
        """What an account pays of amounts of shape (n, tiers, resources). Shape (n,)."""
        tier, resource = place
        if tier == TOTAL:
            paid: Floats = amounts[:, :, resource].sum(axis=1)
            return paid
        return amounts[:, self._tiers.index(Tier(tier)), resource]

    def _least(self, to_come: int) -> float:
        """The audit floor: what is wished for, as far as its share of the budget pays for it."""
        floor = AUDITS if self._audit is None else self._audit
        if len(self._outlook):
            usual = self._outlook.usual[-1]
            top = int(self._tiers[-1])
            for (tier, resource), left in self._left.items():
                if tier in {TOTAL, top} and usual[resource] > 0.0:
                    floor = min(floor, AUDITS * max(0.0, left) / (to_come * usual[resource]))
        return float(floor)

    def ease(self) -> bool:
        """Halve the prices, so that more is worth its cost; False if they are nothing already."""
        self._price = {place: price / 2.0 for place, price in self._price.items()}
        return any(price > 1.0 / _HIGHEST for price in self._price.values())

    # -- what follows ----------------------------------------------------------------------------

    @property
    def rates(self) -> Floats:
        """Price of one unit of each resource on each tier. Shape (tiers, resources)."""
        made = np.zeros((len(self._tiers), len(Resource)))
        for (tier, resource), price in self._price.items():
            columns = slice(None) if tier == TOTAL else self._tiers.index(Tier(tier))
            made[columns, resource] += price
        return made

    @property
    def prices(self) -> dict[Place, float]:
        """The price of each account with a cap, by tier (or `TOTAL`) and resource."""
        return dict(self._price)

    def climbs(self) -> tuple[Floats, Floats]:
        """What samples like the last ones ask for its worth, and their chance to be drawn."""
        return self._outlook.climbs(self.rates, self.floor)

    def pays_all(self, costs: Floats) -> bool:
        """Whether the budget can pay for asking every tier about every row."""
        taken = costs.sum(axis=0)
        return all(self._of(place, taken) <= left for place, left in self._left.items())

    @property
    def has_caps(self) -> bool:
        """Whether any account has a cap."""
        return bool(self._left)

    @property
    def unevenness(self) -> float:
        """Variance of the logarithm of what the top tier costs for samples decided lately."""
        return self._outlook.unevenness(self.rates)

    def affordable(self, costs: Floats) -> Flags:
        """Whether the budget still pays for asking each tier about each row. Shape (n, tiers)."""
        pays = np.ones(costs.shape[:2], dtype=bool)
        for (tier, resource), left in self._left.items():
            columns = slice(None) if tier == TOTAL else [self._tiers.index(Tier(tier))]
            needed = costs[:, columns, resource]
            pays[:, columns] &= (needed <= left) | (needed == 0.0)
        return pays

    def shares(
        self, costs: Floats, spoken: Floats, margin: float, least: Floats | None = None
    ) -> Floats:
        """How much of what the budget has left asking the top tier about each row takes.

        Args:
            costs: What it takes. Shape (n, resources).
            spoken: What was asked for since the accounts were looked at. Shape (tiers, resources).
            margin: How much more than it takes a check must find reserved, as a share of that.
            least: The least that a check must find of each resource. Shape (resources,).

        Returns:
            The share of the account that has least left for it: 0 where nothing is capped, more
            than 1 where it can't be paid. Shape (n,).
        """
        made = np.zeros(len(costs))
        top = int(self._tiers[-1])
        for place, left in self._left.items():
            needed = costs[:, place[1]]
            if place[0] in {TOTAL, top} and needed.any():
                rest = left - self._of(place, spoken)
                floor = 0.0 if least is None else float(least[place[1]])
                reserved = np.maximum(needed * (1.0 + margin), floor)
                is_payable = reserved <= rest
                rest -= (reserved - needed)[is_payable & (needed > 0.0)].max(initial=0.0)
                share = np.where(needed > 0.0, np.inf, 0.0)
                np.divide(needed, rest, out=share, where=is_payable & (needed > 0.0))
                made = np.maximum(made, share)
        return made

    def snapshot(self) -> dict[str, Any]:
        """All it has observed, as JSON; checks at work are asked for anew after a restart."""
        return {
            "price": _listed(self._price), "found": _listed(self._found),
            "level": _listed(self._level), "goal": _listed(self._goal),
            "foreseen": _listed(self._foreseen), "asked": _listed(self._asked),
            "more": self._more, "samples": self._samples, "rows": self._rows, "fresh": self._fresh,
            "recent": self._recent.tolist(), "floor": self.floor,
            "outlook": self._outlook.snapshot(),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go back to a snapshot."""
        self._price, self._goal = _mapped(snapshot["price"]), _mapped(snapshot["goal"])
        self._found, self._level = _mapped(snapshot["found"]), _mapped(snapshot["level"])
        self._foreseen, self._asked = _mapped(snapshot["foreseen"]), _mapped(snapshot["asked"])
        self._recent = np.array(snapshot["recent"])
        self._samples, self._rows = snapshot["samples"], snapshot["rows"]
        self._fresh, self.floor = snapshot["fresh"], snapshot["floor"]
        self._more = snapshot.get("more")
        self._outlook.restore(snapshot["outlook"])


def _is_alike(before: Mapping[Place, float], after: Mapping[Place, float]) -> bool:
    """Whether no price has changed by much."""
    return all(was / _ALIKE <= after[place] <= was * _ALIKE for place, was in before.items())


def _rows(spent: Floats) -> float:
    """How many equal rows are as even as what these spend: (Σx)²/Σx² (Kish, 1965)."""
    squares = float((spent * spent).sum())
    return float(spent.sum()) ** 2 / squares if squares > 0.0 else 0.0


def _listed(amounts: Mapping[Place, float]) -> list[list[float]]:
    return [[*place, amount] for place, amount in amounts.items()]


def _mapped(rows: Sequence[Sequence[float]]) -> dict[Place, float]:
    return {(int(tier), int(resource)): amount for tier, resource, amount in rows}
