"""Edits of parts of a source, for the lists of those that a key can't notice."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getsourcelines
from typing import Any

from verifier_ladder.testing.mutants import mutations


def edits_of(*parts: Any) -> Iterator[str]:
    """All edits of functions and classes, as `mutation_test` names them."""
    for part in parts:
        lines, first = getsourcelines(part)
        for each in mutations(part.__module__):
            if first <= each.line < first + len(lines):
                yield each.edit
