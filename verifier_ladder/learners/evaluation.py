"""Evaluation: whether a sample trains the policy or evaluates it, as far as its data says."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

_LOG = logging.getLogger("verifier_ladder")
_FLAGS = ("evaluation", "validate", "is_validate", "is_eval")
_SPLIT = re.compile(
    r"(eval|evaluation|val|valid|validate|validation|dev|test|testing|held[-_ ]?out|holdout)"
    r"(?![a-z])",
    re.IGNORECASE,
)
"""How the column `split` begins for rows that are not trained on: `test[:100]`, `test_hard`."""
_NESTED = ("extra_info", "info", "metadata")
EVALUATION_FIELDS = frozenset({*_FLAGS, *_NESTED, "split"})
"""Fields that may say it."""


def evaluates(fields: Mapping[str, Any]) -> bool | None:
    """Whether a sample evaluates the policy, as its fields say; None where they say nothing.

    That is a flag such as `validate`, or a `split` such as "test", of its own or in the
    `extra_info`, `info` or `metadata` beside it.

    Example:
        >>> evaluates({"extra_info": {"split": "test"}}), evaluates({"split": "train"})
        (True, False)
        >>> evaluates({"answer": "4"}) is None
        True
    """
    for held in (fields, *map(fields.get, _NESTED)):
        if not isinstance(held, Mapping):
            continue
        for name in _FLAGS:
            flag: Any = held.get(name)
            if getattr(flag, "ndim", 1) == 0:  # A truth value of numpy.
                flag = flag.item()
            if isinstance(flag, bool):
                return flag
        split = held.get("split")
        if isinstance(split, str):
            return _SPLIT.match(split.strip()) is not None
    return None


class Rows:
    """Rows of a learner that does not say itself which samples evaluate."""

    def __init__(self, name: str, learner: str, remedy: str, *, asks: bool = True) -> None:
        """Ask rows.

        Args:
            name: What scores them.
            learner: The library.
            remedy: What makes the library say it.
            asks: Whether it matters what they say.
        """
        self.asks = asks
        """Whether it is still to be told that they say nothing."""
        self._names = name, learner, remedy

    def evaluate(self, fields: Mapping[str, Any]) -> bool | None:
        """What a row says; a row that says nothing is told of, once."""
        said = evaluates(fields)
        if said is None and self.asks:
            self.asks = False
            name, learner, remedy = self._names
            _LOG.warning(
                "%s does not say which samples evaluate, and neither do the rows of %s: all "
                "count as training. %s, give the rows a split ('train', 'test'), or the function "
                "evaluation=False where nothing is evaluated", learner, name, remedy,
            )  # fmt: skip
        return said
