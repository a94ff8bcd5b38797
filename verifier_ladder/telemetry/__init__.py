"""Telemetry: traces and metrics of a process, for those who ask for them.

While it is off, `active` is None; the score path looks at that once a call and at nothing else.
What it needs is imported when it is switched on: `pip install '.[telemetry]' in a clone`.
"""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.telemetry.instruments import Instruments

PARTS: Final = ("traces", "metrics")
"""What can be switched on."""
active: Instruments | None = None
"""What is told of everything that happens in this process; None while telemetry is off."""
_LOCK = Lock()


def begin(
    parts: Collection[str] = PARTS, *, provider: Any = None, registry: Any = None
) -> Instruments:
    """Switch telemetry on in this process; a second call replaces what the first one made.

    Args:
        parts: `traces`, `metrics`, or both.
        provider: OpenTelemetry's tracer provider. By default the process's own if it has one,
            else one that sends OTLP over HTTP to where `OTEL_EXPORTER_OTLP_ENDPOINT` says.
        registry: The registry of prometheus-client; its default one if left out.

    Raises:
        ConfigError: If there is no such part, or a package is missing.
    """
    global active  # noqa: PLW0603 - one process, one telemetry
    _check(parts)
    try:
        from verifier_ladder.telemetry.instruments import make
    except ImportError as error:
        raise _missing(error) from error
    with _LOCK:
        if active is not None:
            active.close()
        try:
            active = make(parts, provider, registry)
        except ImportError as error:
            active = None
            raise _missing(error) from error
        return active


def begin_as_set() -> None:
    """Switch on what `VLADDER_TELEMETRY` says, unless telemetry is on already.

    Raises:
        ConfigError: If that makes no sense, or a package is missing.
    """
    from verifier_ladder.settings import load_settings

    said = load_settings().telemetry
    if said and active is None:
        begin([part.strip() for part in said.split(",")])


def end() -> None:
    """Switch telemetry off; what was not sent yet is sent."""
    global active  # noqa: PLW0603 - one process, one telemetry
    with _LOCK:
        if active is not None:
            active.close()
        active = None


def _check(parts: Collection[str]) -> None:
    unknown = sorted(set(parts) - set(PARTS))
    if unknown or not parts:
        raise ConfigError(
            f"telemetry has no {', '.join(unknown) or 'part'}; write {' or '.join(PARTS)}, or "
            "both with a comma"
        )


def _missing(error: ImportError) -> ConfigError:
    return ConfigError(f"telemetry needs {error.name}: pip install '.[telemetry]' in a clone")
