"""The alerter: a thread that tells each cause to each receiver, at least once and then no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.alerts.causes import Cause, causes
from verifier_ladder.alerts.delivery import Deliver, SilentError, receivers
from verifier_ladder.alerts.rules import AlertRules
from verifier_ladder.containment import ContainedLog, ends_program, text_of
from verifier_ladder.errors import LadderError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder

_LOG = ContainedLog(__name__)
KIND = "alert"
"""Kind of the entries that tell what was delivered."""
EVERY = 15.0
"""Seconds between two looks."""
_FIRST_PAUSE, _LONGEST_PAUSE = 15.0, 600.0


class _Later(NamedTuple):
    """A delivery that failed."""

    at: float
    """Monotonic time of the next attempt."""
    pause: float


class _Watch(NamedTuple):
    """Who is told about a campaign."""

    rules: AlertRules
    receivers: Mapping[str, Deliver]
    campaign: str = ""
    verifiers: frozenset[tuple[str, str]] = frozenset()
    """Those that its ladder asks, by name and version."""

    def is_about(self, cause: Cause) -> bool:
        return cause.campaign == self.campaign or cause.verifier in self.verifiers


class Alerts:
    """Tells what there is to be told; what was delivered is in the ledger.

    A ladder's own rules hold for its campaigns and its verifiers, as long as they are at work
    here; the ledger's rules hold for everything else.

    A crash between a delivery and its entry has it delivered once more, under the same id.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     Alerts(ledger, AlertRules(command=("cat",))).look()
        0
    """

    def __init__(self, ledger: Ledger, rules: AlertRules | None = None) -> None:
        """Tell nothing yet.

        Args:
            ledger: The ledger.
            rules: What is told of everything that no ladder has rules for; nothing if None.

        Raises:
            ConfigError: If a package is missing, or the secret is no key.
        """
        self._ledger = ledger
        self._rest = None if rules is None else _Watch(rules, dict(receivers(rules)))
        self._own: dict[str, _Watch] = {}
        self._told: set[tuple[str, str]] = set()
        self._read = 0
        self._later: dict[tuple[str, str], _Later] = {}
        self._silent: dict[Deliver, float] = {}
        """Receivers that did not answer in time, and the monotonic time of the next attempt."""

    def look(self) -> int:
        """Deliver what nobody has delivered yet; count the deliveries."""
        self._take_up()
        own = list(self._own.values())
        told = sum(self._look(watch, watch.is_about) for watch in own)
        if self._rest is None:
            return told
        return told + self._look(
            self._rest, lambda cause: not any(watch.is_about(cause) for watch in own)
        )

    def _look(self, watch: _Watch, is_meant: Callable[[Cause], bool]) -> int:
        return sum(
            self._tell(name, deliver, cause)
            for cause in filter(is_meant, causes(self._ledger, watch.rules))
            for name, deliver in watch.receivers.items()
            if (name, cause.name) not in self._told
        )

    def watch(self, campaign: str, ladder: Ladder) -> bool:
        """Go by a ladder's own rules for a campaign; False if it has none.

        Raises:
            ConfigError: If a package is missing, or the secret is no key.
        """
        if ladder.alerts is None:
            return False
        asked = frozenset((verifier.name, verifier.version) for verifier in ladder.verifiers)
        heard = dict(receivers(ladder.alerts))
        self._own[campaign] = _Watch(ladder.alerts, heard, campaign, asked)
        return True

    def forget(self, campaign: str) -> None:
        """Go by the ledger's rules for a campaign again."""
        self._own.pop(campaign, None)

    def _take_up(self) -> None:
        """Read what was delivered, by whatever process."""
        for entry in self._ledger.entries(after=self._read, kind=KIND):
            self._read = entry.id
            try:
                facts = self._ledger.read(entry).facts
            except LedgerError as error:  # It may not keep anybody from being told.
                _LOG.warning("a delivery of an alert can't be read: %s", error)
                continue
            self._told.add((facts["to"], facts["cause"]))

    def _tell(self, name: str, deliver: Deliver, cause: Cause) -> bool:
        later = self._later.get((name, cause.name))
        at = max(self._silent.get(deliver, 0.0), 0.0 if later is None else later.at)
        if monotonic() < at:
            return False
        try:
            deliver(cause)
        except LadderError as error:
            if isinstance(error, SilentError):  # It may not hold up the others, nor a close.
                self._silent[deliver] = monotonic() + _FIRST_PAUSE
            self._postpone(name, cause, later, error)
            return False
        facts = {"to": name, "cause": cause.name, "text": cause.text}
        self._ledger.append(Block(KIND, cause.campaign, facts=facts))
        self._told.add((name, cause.name))
        self._later.pop((name, cause.name), None)
        return True

    def _postpone(self, name: str, cause: Cause, later: _Later | None, error: LadderError) -> None:
        pause = _FIRST_PAUSE if later is None else min(2 * later.pause, _LONGEST_PAUSE)
        self._later[name, cause.name] = _Later(monotonic() + pause, pause)
        _LOG.warning("an alert was not delivered and is tried again: %s (%s)", cause.text, error)


class Alerter:
    """Looks now and then for what there is to be told, in a thread of its own."""

    def __init__(self, alerts: Alerts, every: float = EVERY) -> None:
        """Start the thread.

        Args:
            alerts: What is told; its ledger must stay open until this is closed.
            every: Seconds between two looks.
        """
        self._alerts, self._every = alerts, every
        self._ends = Event()
        self._thread = Thread(target=self._run, name="vl-alerter", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(self._every):
            self._look()

    def _look(self) -> None:
        try:
            self._alerts.look()
        except BaseException as error:  # Nothing may end the thread.
            if ends_program(error):
                raise
            _LOG.warning("nobody was alerted: %s", text_of(error))

    def close(self) -> None:
        """End the thread, after a last look: a short program would tell nothing else."""
        self._ends.set()
        self._thread.join()
        self._look()
