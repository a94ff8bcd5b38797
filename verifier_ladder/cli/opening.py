"""Opening what a command works on: the settings, the ledger, a campaign of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.ledger.records import CampaignRow


def ledger_place(given: str | None) -> str:
    """Where the ledger lies: as given, or else as the settings say."""
    from verifier_ladder.settings import load_settings
    from verifier_ladder.telemetry.logs import write_logs

    settings = load_settings()
    write_logs(settings.log_level, settings.log_format)
    return given or settings.ledger


@contextmanager
def existing_ledger(given: str | None) -> Iterator[Ledger]:
    """Open a ledger that is written to; one that is not there is not made.

    Raises:
        ConfigError: If there is no ledger at this place.
    """
    from verifier_ladder.ledger import open_ledger

    with open_ledger(_existing(given), make=False) as ledger:
        yield ledger


@contextmanager
def ledger_to_read(given: str | None) -> Iterator[Ledger]:
    """Open a ledger that is only read, so that not a byte of its file changes.

    Raises:
        ConfigError: If there is no ledger at this place.
    """
    from verifier_ladder.ledger.opening import open_evidence

    with open_evidence(_existing(given)) as ledger:
        yield ledger


def _existing(given: str | None) -> str:
    """Where a ledger lies that is there."""
    place = ledger_place(given)
    path = place.removeprefix("sqlite:///")
    try:
        found, why = "://" in path or Path(path).exists(), ""
    except OSError as error:  # Its name is too long, or its folder can't be searched.
        found, why = False, f" ({error.strerror})"
    if not found:
        raise ConfigError(
            f"there is no ledger at {printable(path)}{why}; give its place with --ledger or "
            "VLADDER_LEDGER, or make one with `vladder demo` or `vladder score`"
        )
    return place


def only_campaign(ledger: Ledger, name: str | None) -> CampaignRow:
    """The campaign of this name; without a name the newest that is no shadow.

    Raises:
        ConfigError: If there is none.
    """
    from verifier_ladder.scheduler.shadow import is_shadow

    rows = ledger.campaigns()
    if not rows:
        raise ConfigError("the ledger holds no campaign yet")
    if name is None:
        return next((row for row in reversed(rows) if not is_shadow(row.name)), rows[-1])
    found = next((row for row in rows if row.name == name), None)
    if found is None:
        known = ", ".join(printable(row.name, 60) for row in rows)
        raise ConfigError(f"the ledger holds no campaign {printable(name)!r}; it holds {known}")
    return found
