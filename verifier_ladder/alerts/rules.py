"""Alert rules: about what somebody wants to hear, and how."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from verifier_ladder.arguments import checked_url
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.settings import load_settings


@dataclass(frozen=True, slots=True)
class AlertRules:
    """What is alerted about, and who is told.

    Example:
        >>> AlertRules(command=("logger", "-t", "vladder")).dead
        1
    """

    webhook: str = ""
    """Where alerts are posted as JSON; nowhere if empty."""
    secret: str = field(default="", repr=False)
    """Key that signs what is posted, as Standard Webhooks has it; unsigned if empty."""
    command: tuple[str, ...] = ()
    """Program and arguments; it is run without a shell and reads the alert as JSON on stdin."""
    budget: tuple[float, ...] = (0.8, 1.0)
    """Shares of a cap at whose passing somebody is told."""
    drift: bool = True
    """Whether verifiers that audits find to be gamed or changed are told."""
    dead: int = 1
    """How many dead checks of a verifier are told; then ten times as many, and so on. 0: never."""
    queue_age: float = 0.0
    """Seconds after which a check that nobody works on is told; 0: never."""
    unanswered: float = 0.2
    """Largest share of samples that end without a reward and are no alarm; 1: never. This alarm
    stands in the log, in learners' metrics, in the summary and the report."""
    unanswered_samples: int = 50
    """With fewer samples that have ended, a share says little."""

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> AlertRules:
        """Read the section `[alerts]`.

        Raises:
            ConfigError: If it says something that makes no sense.
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(table) - known):
            raise ConfigError(
                f"[alerts] has no {', '.join(unknown)}; it has {', '.join(sorted(known))}"
            )
        made = dict(table)
        if "command" in made:
            made["command"] = _command(made["command"])
        if "budget" in made:
            made["budget"] = _shares(made["budget"])
        if "unanswered" in made:
            made["unanswered"] = _share(made["unanswered"])
        if "queue_age" in made:
            made["queue_age"] = seconds(made["queue_age"])
        _check(made)
        return cls(**made)


def load_rules(path: str | Path) -> AlertRules:
    """Read alert rules from the section `[alerts]` of a TOML file.

    Raises:
        ConfigError: If the file can't be read, or says something that makes no sense.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"can't read the alerts of {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the alerts of {path} are not TOML: {error}") from None
    section = table.get("alerts")
    if not isinstance(section, Mapping):
        raise ConfigError(f"{path} has no section [alerts]; put webhook or command into one")
    return AlertRules.from_table(section)


def rules_as_set() -> AlertRules | None:
    """What `VLADDER_ALERTS` wants to be told; None if it says nothing.

    Raises:
        ConfigError: If the rules make no sense.
    """
    path = load_settings().alerts
    return None if path is None else load_rules(path)


def _command(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(p, str) for p in given):
        raise ConfigError(
            f"command={given!r}: give the program and its arguments as a list, such as "
            '["logger", "-t", "vladder"]; no shell reads it'
        )
    return tuple(given)


def _shares(given: Any) -> tuple[float, ...]:
    shares = given if isinstance(given, list) else [given]
    if not all(_is_number(share) and 0 < share <= 1 for share in shares):
        raise ConfigError(f"budget={given!r}: give shares of a cap, above 0 and up to 1")
    return tuple(sorted(map(float, shares)))


def _share(given: Any) -> float:
    if not _is_number(given) or not 0 <= given <= 1:
        raise ConfigError(f"unanswered={given!r}: give a share of the samples, from 0 to 1")
    return float(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check(table: Mapping[str, Any]) -> None:
    webhook, dead = table.get("webhook", ""), table.get("dead", 1)
    if not isinstance(webhook, str):
        raise ConfigError(f"webhook={webhook!r}: give an address that begins with https://")
    if webhook:
        checked_url("webhook", webhook)
    if not isinstance(table.get("secret", ""), str):
        raise ConfigError("secret: give text")
    if not isinstance(table.get("drift", True), bool):
        raise ConfigError(f"drift={table['drift']!r}: write true or false")
    if not isinstance(dead, int) or isinstance(dead, bool) or dead < 0:
        raise ConfigError(f"dead={dead!r}: give a number of checks, or 0 for never")
    fewest = table.get("unanswered_samples", 1)
    if not isinstance(fewest, int) or isinstance(fewest, bool) or fewest < 1:
        raise ConfigError(f"unanswered_samples={fewest!r}: give a number of samples, at least 1")
    is_of_log = any(name.startswith("unanswered") for name in table)
    if not webhook and not table.get("command") and not is_of_log:
        raise ConfigError("[alerts] tells nobody; give a webhook or a command")
