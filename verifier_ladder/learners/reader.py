"""Readers: completions and the columns beside them, read as candidates of a ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_ladder.candidate import Candidate, Turn, checked_candidates
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import canonical_json
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.messages import text_of, turns_of
from verifier_ladder.media import carried
from verifier_ladder.signature import LIVE, MESSAGES
from verifier_ladder.task import refuse_overlooked


class Reader:
    """Makes candidates of what a learner hands over.

    Only the columns that verifiers read become part of a candidate, so that the others, which may
    be images or environments, never reach a key.

    Example:
        >>> import verifier_ladder as vl
        >>> check = vl.wrap(lambda completions, answer: [1.0], name="check", columns=["answer"])
        >>> reader = Reader(vl.Ladder("check", [check]), "check")
        >>> reader.candidates(["4"], {"answer": ["4"], "source": ["book"]})[0].task
        {'answer': '4'}
    """

    def __init__(self, ladder: Ladder, name: str) -> None:
        """Read for a ladder, under the name that messages use."""
        self._kind, self._name, self._verifiers = ladder.kind, name, ladder.verifiers
        self._fields = _fields(ladder)
        self._needed = {c for v in ladder.verifiers for c in getattr(v, "columns", ())}
        self._chat = any(MESSAGES in (v.task_fields or ()) for v in ladder.verifiers)
        self._turns = any(v.reads_turns for v in ladder.verifiers)

    def candidates(
        self, completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Candidate]:
        """One candidate for each completion, in order.

        Args:
            completions: Text, or lists of chat messages.
            columns: Lists with one value for each completion; None is a column that isn't there.

        Raises:
            ConfigError: If a column that a verifier needs is missing, or one that it reads has
                the wrong form or can't be keyed; the message names it.
        """
        tasks = _tasks(self._wanted(columns, len(completions)), len(completions))
        if _all_text(completions):
            return checked_candidates(self._kind, completions, tasks)
        return list(map(self._candidate, completions, tasks))

    def candidate(self, completion: Any, fields: Mapping[str, Any]) -> Candidate:
        """One candidate; see `candidates`, of which a batch of one would take three times as long.

        Args:
            completion: Text, or a list of chat messages.
            fields: What its learner gives with it.
        """
        (task,) = _tasks(self._wanted({name: [fields[name]] for name in fields}, 1), 1)
        return self._candidate(completion, task)

    def _wanted(self, given: Mapping[str, Any], count: int) -> dict[str, Sequence[Any]]:
        """The columns that verifiers read, checked."""
        everything = [name for name in given if name not in LIVE and given[name] is not None]
        for verifier in self._verifiers:
            refuse_overlooked(verifier, everything)
        names = self._fields if self._fields is not None else everything
        found: dict[str, Sequence[Any]] = {}
        for name in names:
            values = given.get(name)
            if values is not None:
                found[name] = _keyable(name, same_length(name, values, count))
            elif name in self._needed:
                raise ConfigError(
                    f"{self._name} reads the column {name!r}, which the trainer does not give; "
                    f"it gives {', '.join(sorted(everything)) or 'none'}"
                )
        return found

    def _candidate(self, completion: Any, task: Mapping[str, Any] | None) -> Candidate:
        turns: tuple[Turn, ...] = ()
        if not isinstance(completion, str):
            if self._chat:
                task = {**(task or {}), MESSAGES: carried(completion)}
            if self._turns:
                turns = turns_of(completion)
        return Candidate(self._kind, text_of(completion), task, turns)


def _tasks(columns: Mapping[str, Sequence[Any]], count: int) -> list[Mapping[str, Any] | None]:
    """The rows of columns; equal ones are one object where all values are text."""
    if not columns:
        return [None] * count
    rows = zip(*columns.values(), strict=True)
    if not all(map(_all_text, columns.values())):
        return [dict(zip(columns, row, strict=True)) for row in rows]
    found = list(rows)
    tasks = {row: dict(zip(columns, row, strict=True)) for row in set(found)}
    return list(map(tasks.__getitem__, found))


def _all_text(values: Sequence[Any]) -> bool:
    return {str}.issuperset(map(type, values))


def _fields(ladder: Ladder) -> list[str] | None:
    """The task fields that its verifiers read; None if one of them reads all."""
    fields: dict[str, None] = {}
    for verifier in ladder.verifiers:
        if verifier.task_fields is None:
            return None
        fields.update(dict.fromkeys(verifier.task_fields))
    return [field for field in fields if field != MESSAGES]


def same_length(name: str, values: Any, count: int) -> Sequence[Any]:
    """The values, if there is one for each completion.

    Raises:
        ConfigError: If they are no list, or of another length.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ConfigError(
            f"{name} must be a list with one value per completion, not {type(values).__name__}"
        )
    if len(values) != count:
        raise ConfigError(f"{name} has {len(values)} values for {count} completions")
    return values


def _keyable(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """Refuse what could not be part of a key here, where the column's name is known."""
    try:
        canonical_json(values)
    except ConfigError:
        # Rows of a table hold arrays and numbers of numpy, which lists and numbers stand for,
        # and images, whose pixels travel.
        values = [carried(_plain(value)) for value in values]
    else:
        return values
    try:
        canonical_json(values)
    except ConfigError as error:
        raise ConfigError(f"column {name!r}: {error}") from None
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
