"""Naive judges of molecules: no key may be met by what looks at the text alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifier_ladder.testing.answerkey import Judge, Twin


def is_hydrocarbon(text: str, _: Mapping[str, Any]) -> bool:
    return set(text) <= set("Cc123()=#")


def is_symmetric(text: str, _: Mapping[str, Any]) -> bool:
    """Written the same from both ends."""
    plain = "".join(letter for letter in text if letter.isalpha())
    return plain == plain[::-1]


TWINS: Mapping[str, Judge] = {
    "it is a hydrocarbon": Twin(is_hydrocarbon),
    "it reads the same from both ends": Twin(is_symmetric),
}
