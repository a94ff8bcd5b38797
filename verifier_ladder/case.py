"""Cases: what the world is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import ContainedLog

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

_LOG = ContainedLog("verifier_ladder")


class Case(NamedTuple):
    """An open world case: a question to a person, a laboratory or a market."""

    check_key: bytes
    verifier: str
    candidate: Candidate
    question: str
    unit: str
    deadline: float | None
    """Seconds since 1970; None if it may stay open for ever."""


def question_of(verifier: Verifier | None, candidate: Candidate, name: str) -> str:
    """What the world is asked; a question that can't be worded hides no other case.

    Args:
        verifier: The verifier that asks; None where its code is not here.
        candidate: What it asks about.
        name: The verifier's name.

    Example:
        >>> question_of(None, Candidate("text", "soup"), "taste")
        'What does taste say of it?'
    """
    ask: Callable[[Candidate], object] | None = getattr(verifier, "question", None)
    asked: object = None
    try:
        asked = ask(candidate) if ask else None
    except Exception:  # noqa: BLE001 - it is a user's code
        _LOG.exception("the verifier %s could not word its question", name)
    return asked if isinstance(asked, str) else f"What does {name} say of it?"
