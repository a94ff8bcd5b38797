"""Causes: what there is to be told of a ledger, each with a name that stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from verifier_ladder.alerts.rules import AlertRules
from verifier_ladder.budget import place_label
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Account
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.text import printable

_HOUR = 3600.0


class Cause(NamedTuple):
    """Something that somebody should hear of, once."""

    name: str
    """What tells it from every other cause: the same cause has the same name for ever."""
    kind: str
    """budget, drift, dead or queue."""
    campaign: str
    """"" if it is about the ledger as a whole."""
    text: str
    """A sentence for a person, without control characters."""
    verifier: tuple[str, str] | None = None
    """Name and version of the verifier whose checks it is about, whoever asked for them."""

    def as_json(self) -> dict[str, Any]:
        """What is delivered; receivers know a repetition by its `id`."""
        return {
            "id": self.name, "kind": self.kind, "campaign": self.campaign, "text": self.text,
        }  # fmt: skip


def causes(ledger: Ledger, rules: AlertRules, *, after: int = 0) -> Iterator[Cause]:
    """All that the rules want to be told of, as the ledger stands.

    Args:
        ledger: The ledger.
        rules: What is asked for.
        after: Entry up to which drift alarms were seen before.
    """
    for row in ledger.campaigns():
        for account in ledger.accounts(row.name):
            yield from _budget(row.name, account, rules)
    if rules.drift:
        yield from _drift(ledger, after)
    if rules.dead or rules.queue_age:
        yield from _queue(ledger, rules)


def _budget(campaign: str, account: Account, rules: AlertRules) -> Iterator[Cause]:
    """The largest share of a cap that was passed; a raised cap is a new cause."""
    if not account.cap:
        return
    passed = [share for share in rules.budget if account.spent >= share * account.cap]
    if passed:
        place, share = place_label(account.tier), passed[-1]
        yield Cause(
            f"budget/{campaign}/{place}/{account.resource.label}/{share:g}/{account.cap:g}",
            "budget", campaign,
            f"{campaign} has spent {account.spent / account.cap:.0%} of its {place} budget: "
            f"{account.spent:.4g} of {account.cap:.4g} {account.resource.unit}",
        )  # fmt: skip


def _drift(ledger: Ledger, after: int) -> Iterator[Cause]:
    for entry in ledger.entries(after=after, kind="alarm"):
        try:
            told = Alarm.from_json(ledger.read(entry).facts).headline
        except LedgerError as error:  # It may not keep others from being told.
            told = f"an alarm can't be read: {error}"
        yield Cause(
            f"drift/{entry.campaign}/{entry.id}", "drift", entry.campaign,
            printable(f"{entry.campaign}: {told}", 500),
        )  # fmt: skip


def _queue(ledger: Ledger, rules: AlertRules) -> Iterator[Cause]:
    vitals = ledger.vitals(now=ledger.clock())
    for (verifier, version), count in vitals.dead.items():
        level = _level(count, rules.dead)
        if level:
            yield Cause(
                f"dead/{verifier}/{version}/{level}", "dead", "",
                f"{count} checks of {verifier} {version} are dead; `vladder check ls --state dead "
                f"--verifier {verifier}` tells why", (verifier, version),
            )  # fmt: skip
    for (verifier, version), waiting in vitals.waiting.items():
        if rules.queue_age and waiting.longest >= rules.queue_age:
            began = ledger.clock() - waiting.longest
            window = int(began // max(rules.queue_age, _HOUR))  # Not once for each of them.
            yield Cause(
                f"queue/{verifier}/{version}/{window}", "queue", "",
                f"{waiting.checks} checks of {verifier} {version} wait for a worker, the first "
                f"for {waiting.longest:.0f} seconds", (verifier, version),
            )  # fmt: skip


def _level(count: int, first: int) -> int:
    """The largest of `first`, ten times as many, and so on, that was reached; 0 if none was."""
    if not first or count < first:
        return 0
    level = first
    while level * 10 <= count:
        level *= 10
    return level
