"""Tasks as a verifier sees them: what it declares that it reads, and an error for all else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import Candidate, with_tasks
from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

_NOTHING = object()


class SeenTask(dict[str, Any]):
    """The fields of a task that a verifier declares. Asking for another is an error, never None.

    A verdict is filed under the declared fields only: read by way of another, it would be used
    again where it doesn't hold. It is always true, so that `candidate.task or {}` asks it too.

    Example:
        >>> SeenTask("exact", ["answer"], {"answer": "4"}).get("answer")
        '4'
        >>> SeenTask("exact", ["answer"], {}).get("answer", "none")
        'none'
    """

    def __init__(
        self, verifier: str, declared: Sequence[str], fields: Mapping[str, Any] | None
    ) -> None:
        """Show a task's fields to a verifier."""
        fields = fields or {}
        super().__init__({name: fields[name] for name in declared if name in fields})
        self._verifier, self._declared = verifier, declared

    def __bool__(self) -> bool:
        """True, also without any field."""
        return True

    def __missing__(self, name: str) -> Any:
        """Refuse; a declared field that this task lacks is a KeyError."""
        self._check(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        """Whether the task has this declared field."""
        return super().__contains__(name) or self._check(name)

    def get(self, name: str, default: Any = None) -> Any:
        """A declared field, or the default if this task lacks it."""
        return super().get(name, default) if name in self else default

    def pop(self, name: str, default: Any = _NOTHING) -> Any:
        """Take a declared field out."""
        if name in self or default is _NOTHING:
            return super().pop(name)
        return default

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with what is declared."""
        return SeenTask, (self._verifier, self._declared, dict(self))

    def _check(self, name: object) -> bool:
        if name in self._declared:
            return False
        raise _undeclared(self._verifier, name)


def _undeclared(verifier: str, name: object) -> ConfigError:
    return ConfigError(
        f"{verifier} reads the task field {name!r}, which it does not declare; verdicts "
        f"are filed under what is declared. Give it task_fields=[{name!r}], which vl.wrap "
        f"calls columns=[{name!r}], or task_fields=None for all fields"
    )


def refuse_overlooked(verifier: Verifier, fields: Iterable[str]) -> None:
    """Refuse fields that a wrapped function would read, and is not given: it would judge without.

    Raises:
        ConfigError: If one of these fields of a task is among them.
    """
    overlooked: Collection[str] = getattr(verifier, "overlooked", ())
    for name in fields if overlooked else ():
        if name in overlooked:
            raise _undeclared(verifier.name, name)


def seen_by(
    verifier: str, declared: Sequence[str] | None, candidates: Sequence[Candidate]
) -> Sequence[Candidate]:
    """Candidates whose tasks show only what a verifier declares; None declares all.

    Example:
        >>> seen_by("exact", ["answer"], [Candidate("text", "a", {"answer": 4, "b": 5})])[0].task
        {'answer': 4}
    """
    if declared is None:
        return candidates
    nothing = SeenTask(verifier, declared, None)
    tasks = [
        nothing if candidate.task is None else SeenTask(verifier, declared, candidate.task)
        for candidate in candidates
    ]
    return with_tasks(candidates, tasks)
