"""Evaluation: whether a sample trains the policy or evaluates it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LOG = logging.getLogger("verifier_ladder")
_FLAGS = ("evaluation", "validate", "is_validate", "is_eval")
_SPLIT = re.compile(
    r"(eval|evaluation|val|valid|validate|validation|dev|test|testing|held[-_ ]?out|holdout)"
    r"(?![a-z])",
    re.IGNORECASE,
)
"""How the column `split` begins for rows that are not trained on: `test[:100]`, `test_hard`."""
_NESTED = ("extra_info", "info", "metadata", "label")
_FIELDS = frozenset({*_FLAGS, *_NESTED, "split"})


def evaluates(fields: Mapping[str, Any]) -> bool | None:
    """Whether a sample evaluates the policy, as its fields say; None where they say nothing.

    That is a flag such as `validate`, or else a `split` such as "test", of its own or in the
    `extra_info`, `info`, `metadata` or `label` beside it.

    Example:
        >>> evaluates({"extra_info": {"split": "test"}}), evaluates({"split": "train"})
        (True, False)
        >>> evaluates({"answer": "4"}) is None
        True
    """
    held = [one for one in (fields, *map(fields.get, _NESTED)) if isinstance(one, Mapping)]
    for one in held:
        for name in _FLAGS:
            flag: Any = one.get(name)
            if getattr(flag, "ndim", 1) == 0:  # A truth value of numpy.
                flag = flag.item()
            if isinstance(flag, bool):
                return flag
    splits = [split for one in held if isinstance(split := one.get("split"), str)]
    return _SPLIT.match(splits[0].strip()) is not None if splits else None


class Evaluation:
    """Which samples evaluate the policy: as the user says, else their learner, else their rows.

    A sample of which nobody says it trains; the log tells that once.
    """

    def __init__(self, name: str, *, of_all: bool | None = None, advice: str = "") -> None:
        """Decide for what a reward function scores.

        Args:
            name: The function's name.
            of_all: What the user says of all samples.
            advice: What makes the learner or its rows say it, for the log.
        """
        self._name, self._of_all, self._advice = name, of_all, advice

    def expect_none(self) -> None:
        """Hear that the learner never evaluates, so that nobody needs to say anything."""
        self._advice = ""

    def of(self, fields: Mapping[str, Any], *, said: bool | None = None) -> bool:
        """Whether a sample evaluates the policy.

        Args:
            fields: Its row.
            said: What its learner says.
        """
        known = said if self._of_all is None else self._of_all
        if known is None:
            known = evaluates(fields)
        if known is None:
            self._tell()
        return bool(known)

    def of_each(
        self, columns: Mapping[str, Any], count: int, *, said: bool | None = None
    ) -> list[bool]:
        """Whether each of a call's samples evaluates the policy.

        Args:
            columns: Lists with one value for each sample.
            count: How many samples there are.
            said: What their learner says of the call.
        """
        told = {
            name: values for name, values in columns.items()
            if name in _FIELDS and isinstance(values, Sequence) and len(values) == count
        }  # fmt: skip
        if said is not None or self._of_all is not None or not told:
            return [self.of({}, said=said)] * count
        return [
            self.of(dict(zip(told, row, strict=True))) for row in zip(*told.values(), strict=True)
        ]

    def _tell(self) -> None:
        advice, self._advice = self._advice, ""
        if advice:
            _LOG.warning(
                "nobody says which samples of %s evaluate, so all count as training. %s",
                self._name, advice,
            )  # fmt: skip
