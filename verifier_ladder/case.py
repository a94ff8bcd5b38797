"""Cases: what the world is asked."""

from __future__ import annotations

from typing import NamedTuple

from verifier_ladder.candidate import Candidate


class Case(NamedTuple):
    """An open world case: a question to a person, a laboratory or a market."""

    check_key: bytes
    verifier: str
    candidate: Candidate
    question: str
    unit: str
    deadline: float | None
    """Seconds since 1970; None if it may stay open for ever."""
