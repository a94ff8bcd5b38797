"""Limits: how much a server takes on, of one call and of all calls together."""

from __future__ import annotations

from dataclasses import dataclass, fields

from verifier_ladder.errors import ConfigError

MOST_SAMPLES = 65_536
"""Samples of one call."""
LONGEST_CONTENT = 4 * 2**20
"""Characters of one candidate."""
MOST_FIELDS = 65_536
"""Fields of one object in a body."""
MOST_PARTS = 2**20
"""Fields, objects and lists of one body."""
MOST_ENTRIES = 2**23
"""Commas of one body, which are about as many as the entries of its lists."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a server takes on; what is beyond is refused before it is accepted.

    Example:
        >>> Limits(body=2**20).body
        1048576
    """

    body: int = 64 * 2**20
    """Bytes of one request's body."""
    held: int = 256 * 2**20
    """Bytes of all bodies that are not answered yet."""
    samples: int = 4 * MOST_SAMPLES
    """Samples that are accepted and not answered yet."""
    calls: int = 32
    """Calls for batches that are scored at one time; others wait for their turn."""
    gathered: int = 16
    """Calls for gathered single samples at one time."""

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through.

        Raises:
            ConfigError: If one is not a positive number.
        """
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ConfigError(f"the limit {field.name} must be at least 1")
