"""What the attack suite shares: an attack beside its honest twin, fought out in a campaign.

Every candidate goes through `Campaign.score` into a ledger file. What is compared is what stands
in there afterwards, and the file is verified as `vladder ledger verify` does it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.resource import Resource
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.verdict import Outcome, Verdict

BACKENDS = ("namespaces", "landlock")


class Attack(NamedTuple):
    """A candidate that wants more than it has earned, and its honest twin."""

    candidate: vl.Candidate
    control: vl.Candidate
    """As honest as the attack is not, of the same task; it must be accepted beside it."""
    reason: str = ""
    """What the ledger's reason must match: a regular expression."""
    outcome: Outcome = Outcome.REJECT
    burns: float = 0.0
    """Seconds of processor time that are charged for it at least."""
    needs: str = ""
    """A capability of the sandbox without which neither of the two can be judged."""


def attack(
    hostile: Any,
    control: Any,
    task: Mapping[str, Any] | None = None,
    reason: str = "",
    **more: Any,
) -> Attack:
    """An attack of two contents, or candidates, of one task."""
    made = [
        each if isinstance(each, vl.Candidate) else vl.Candidate("text", each, task=task)
        for each in (hostile, control)
    ]
    return Attack(made[0], made[1], reason, **more)


class Entry(NamedTuple):
    """What a ledger says of one candidate."""

    verdict: Verdict
    """The last one: of a climb the highest, of what has no canonical form the canonicaliser's."""
    times: int
    """How many entries its checks have, each of which must have one."""
    checks: int
    propensity: float
    draw: float


@dataclass
class Fight:
    """A campaign whose candidates are attacks and their controls, and what became of it."""

    verifiers: Sequence[vl.Verifier]
    """What its ladder has."""
    attacks: Mapping[str, Attack]
    folder: Path
    """Where its ledger lies; several may share one."""
    backend: Backend | None = None
    """The sandbox that verifiers run programs in."""
    climb: Mapping[str, Any] = field(default_factory=dict)
    """More of the ladder, such as its audits."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """More of the campaign."""
    rewards: dict[str, vl.Reward] = field(init=False)
    entries: dict[str, Entry] = field(init=False)
    told: float = field(init=False)
    """Cpu-seconds that its verdicts tell."""
    charged: float = field(init=False)
    """Cpu-seconds on the campaign's accounts."""
    again: list[vl.Reward] = field(init=False)
    """Rewards of the same candidates, asked for once more."""
    charged_again: float = field(init=False)
    unknown: Collection[str] = ()

    @property
    def name(self) -> str:
        """Of its campaign: the verifiers that it attacks."""
        return "+".join(each.name for each in self.verifiers)

    @property
    def ledger(self) -> Path:
        """Where its entries are."""
        return self.folder / "ledger.db"

    @property
    def ladder(self) -> vl.Ladder:
        """What its candidates climb."""
        boxed = [
            each.in_sandbox(self.backend) if self.backend and each.sandbox else each
            for each in self.verifiers
        ]
        return vl.Ladder(self.name, boxed, **self.climb)

    @property
    def candidates(self) -> dict[str, vl.Candidate]:
        """By name; each attack is followed by its control."""
        pairs = (
            ((name, each.candidate), (f"{name}, control", each.control))
            for name, each in self.attacks.items()
        )
        return dict(chain.from_iterable(pairs))

    def run(self, look: Callable[[], None] = lambda: None, deadline: float = 600.0) -> Fight:
        """Score all of them in one call, and once more; then read the ledger.

        Args:
            look: Called when all are scored, while the campaign is open.
            deadline: Seconds that a call may take.
        """
        asked = self.candidates
        with vl.Campaign.open(
            self.name, ladder=self.ladder, ledger=self.ledger, **{"workers": 1, **self.options}
        ) as campaign:
            made = campaign.score(list(asked.values()), deadline=deadline, step=0)
            campaign.drain(deadline)
            look()
            self.charged, newest = charged(campaign), campaign.ledger.newest()
            self.again = campaign.score(list(asked.values()), deadline=deadline, step=1)
            self.charged_again = charged(campaign) - self.charged
        self.rewards = dict(zip(asked, made, strict=True))
        with open_ledger(self.ledger) as ledger:
            found = _Found.of(ledger, self.name, newest)
        self.told = found.seconds
        self.entries = {
            name: entry
            for place, name in enumerate(asked)
            if (entry := found.entry(place)) is not None
        }
        return self

    def check(self, unknown: Collection[str] = ()) -> None:
        """All attacks failed, all controls passed, nothing is lost, and the ledger is sound.

        Args:
            unknown: Boundaries at which the machine may have failed a check: then nothing is
                known of its candidate, which is masked.

        Raises:
            AssertionError: If not; it tells of each what is wrong.
        """
        __tracebackhide__ = True
        self.unknown = unknown
        found = [f"{name}: {what}" for name, what in chain(self._of_attacks(), self._of_all())]
        if damage := verified(self.ledger):
            found.append(damage)
        if found:
            raise AssertionError("\n".join(["", *found]))

    def _of_attacks(self) -> Iterator[tuple[str, str]]:
        for name, each in self.attacks.items():
            twin = f"{name}, control"
            if each.needs and self.backend and not self.backend.gives(each.needs):
                yield from ((one, what) for one in (name, twin) if (what := self._judged(one)))
            elif what := self._unlike(each, name):
                yield name, what
            elif what := self._unlike(each._replace(reason="", outcome=Outcome.ACCEPT), twin):
                yield twin, what

    def _unlike(self, wanted: Attack, name: str) -> str:
        """How what the ledger says differs from what it should say; "" for not at all."""
        if (entry := self.entries.get(name)) is None:
            return "the ledger has no entry of it"
        found, value = entry.verdict, self.rewards[name].value
        if found.failed_at in self.unknown:
            return "" if value is None else f"nothing is known of it, and its reward is {value}"
        if found.failed_at or found.outcome is not wanted.outcome:
            return f"{_shown(found)} instead of {wanted.outcome}"
        if not re.search(wanted.reason, found.reason):
            return f"the reason is not {wanted.reason!r}: {found.reason!r}"
        if not _is_worth(value, found.outcome):
            return f"{found.outcome}, and its reward is {value}"
        return ""

    def _judged(self, name: str) -> str:
        """Whether something was said of what can't be judged here; "" if it was not."""
        if (entry := self.entries.get(name)) is None:
            return "the ledger has no entry of it"
        found, need = entry.verdict, self.attacks[name.removesuffix(", control")].needs
        if found.failed_at == "sandbox" and f"({need})" in found.reason:
            return ""
        return f"{_shown(found)}, where the sandbox lacks {need}"

    def _of_all(self) -> Iterator[tuple[str, str]]:
        for name, entry in self.entries.items():
            if not entry.times == entry.checks > 0:
                yield name, f"{entry.times} entries of {entry.checks} checks"
            is_judged = entry.verdict.failed_at is None
            if is_judged and not (entry.verdict.cost and entry.verdict.cost.seconds > 0):
                yield name, f"it was charged {entry.verdict.cost}"
        if (least := fsum(each.burns for each in self.attacks.values())) > self.told:
            yield self.name, f"{self.told:.3f} s were charged, and {least:.3f} s were burnt"
        if abs(self.told - self.charged) > 1e-3:
            yield self.name, f"{self.charged:.6f} s are on its accounts, {self.told:.6f} s told"
        for (name, once), again in zip(self.rewards.items(), self.again, strict=True):
            if once.value not in {again.value, None}:
                yield name, f"asked again, its reward is {again.value}, and was {once.value}"
        is_known = None not in [reward.value for reward in self.rewards.values()]
        if is_known and self.charged_again:
            yield self.name, f"asked again, it was charged {self.charged_again} s"


def _is_worth(value: float | None, outcome: Outcome) -> bool:
    """Whether a reward fits an outcome: an abstention is unknown, and never 0."""
    if outcome is Outcome.ABSTAIN or value is None:
        return outcome is Outcome.ABSTAIN and value is None
    return value > 0.0 if outcome is Outcome.ACCEPT else value == 0.0


def charged(campaign: vl.Campaign) -> float:
    """Cpu-seconds on a campaign's accounts."""
    accounts = campaign.ledger.accounts(campaign.name)
    return fsum(each.spent for each in accounts if each.resource is Resource.CPU_SECONDS)


def verified(ledger: Path) -> str:
    """What `vladder ledger verify` finds wrong; "" for nothing."""
    said = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(ledger)])
    return "" if said.exit_code == 0 else said.output


def _shown(verdict: Verdict) -> str:
    at = f" at {verdict.failed_at}" if verdict.failed_at else ""
    return f"{verdict.outcome}{at}: {verdict.reason!r}"


@dataclass
class _Found:
    """What the entries of one campaign say of its first step."""

    verdicts: dict[bytes, Verdict]
    counts: Counter[bytes]
    samples: dict[int, tuple[bytes, Sequence[bytes]]]
    """Position → content key and check keys."""
    draws: dict[int, tuple[float, float]]
    seconds: float = 0.0

    @classmethod
    def of(cls, ledger: Ledger, campaign: str, newest: int) -> _Found:
        found = cls({}, Counter(), {}, {})
        for entry in ledger.entries(campaign=campaign, until=newest):
            found.add(ledger.read(entry))
        return found

    def add(self, block: Any) -> None:
        for row in block.verdicts:
            self.verdicts[row.check_key] = row.verdict
            self.counts[row.check_key] += 1
        # Of what a check took, no more is charged than was reserved for it.
        took = [row.verdict.cost.seconds for row in block.verdicts if row.verdict.cost]
        self.seconds += fsum(block.facts.get("charged", took))
        self.verdicts |= {
            row.content_key: row.verdict for row in block.candidates if row.verdict is not None
        }
        if block.samples is None or block.samples.step:
            return
        for place, position in enumerate(block.samples.positions):
            self.samples[position] = (block.samples.contents[place], block.samples.checks[place])
        for columns in block.decisions:
            for place, draw in zip(columns.sample, columns.draws(), strict=False):
                position = block.samples.positions[place]
                self.draws[position] = (draw.propensity, draw.number)

    def entry(self, position: int) -> Entry | None:
        if position not in self.samples:
            return None
        content, checks = self.samples[position]
        keys = [key for key in (checks or (content,)) if key in self.verdicts]
        times = sum(self.counts[key] for key in keys) if checks else len(keys)
        propensity, draw = self.draws[position]
        if not keys:
            return None
        return Entry(self.verdicts[keys[-1]], times, len(checks) or 1, propensity, draw)
