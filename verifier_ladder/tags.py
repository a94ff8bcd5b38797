"""Tags: which capability a task or a verifier is about, and which domain it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from verifier_ladder.errors import ConfigError

CAPABILITIES = (
    "planning", "memory", "tool use", "reasoning", "self-improvement", "perception",
)  # fmt: skip
"""The capabilities that report cards tell apart."""
DOMAINS = {"crystal": "materials", "molecule": "chemistry", "protein": "biology"}
"""What candidates of a kind are about, for verifiers that take several kinds."""
_SPELLED = {name.replace("-", " "): name for name in CAPABILITIES}


class Tags(NamedTuple):
    """What a task or a verifier is about; empty where nobody said."""

    capabilities: tuple[str, ...] = ()
    domain: str = ""


def capabilities_of(value: str | Iterable[str] | None) -> tuple[str, ...]:
    """Capabilities, one or several, in their usual spelling; unknown ones stay as they are.

    Example:
        >>> capabilities_of("Tool_Use"), capabilities_of(["planning", "juggling"])
        (('tool use',), ('planning', 'juggling'))
    """
    if value is None:
        return ()
    listed = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return tuple(dict.fromkeys(_spelled(str(name)) for name in listed if str(name).strip()))


def checked_capabilities(value: str | Iterable[str], owner: str) -> tuple[str, ...]:
    """Capabilities that a verifier declares.

    Raises:
        ConfigError: If one of them is not known; `owner` says whose it is.

    Example:
        >>> checked_capabilities("self_improvement", "verifier judge")
        ('self-improvement',)
    """
    found = capabilities_of(value)
    unknown = [name for name in found if name not in CAPABILITIES]
    if unknown:
        raise ConfigError(
            f"capability {unknown[0]!r} of {owner} is not known; write {', '.join(CAPABILITIES)}"
        )
    return found


def domain_of(kind: str) -> str:
    """The domain of a verifier that is made for a kind of candidate; the kind where none is known.

    Example:
        >>> domain_of("molecule"), domain_of("text")
        ('chemistry', 'text')
    """
    return DOMAINS.get(kind, kind)


def _spelled(name: str) -> str:
    plain = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    return _SPELLED.get(plain, name.strip())
