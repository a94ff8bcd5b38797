"""Tasks: what a verifier reads of them, checked before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from verifier_ladder.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


class TaskError(ConfigError):
    """A task that no answer could be judged by: nobody's candidate is at fault.

    Verifiers make it an abstention that is kept, with its words as the reason: asking again about
    the same task tells nothing, and a task that was mended has another key.
    """


def read_task(model: type[Model], task: Mapping[str, Any] | None) -> Model:
    """Read the fields of a task; those that the model does not name are somebody else's.

    Raises:
        TaskError: If a field is missing, empty (None) or makes no sense.

    Example:
        >>> class Sum(BaseModel):
        ...     answer: int
        >>> read_task(Sum, {"answer": 4, "prompt": "2 + 2"}).answer
        4
        >>> read_task(Sum, {"prompt": "2 + 2"})
        Traceback (most recent call last):
        verifier_ladder.tiers.tasks.TaskError: the task has no answer
    """
    try:
        return model.model_validate(task or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
    name, *inside = first["loc"] or ("",)
    if (not inside and first["type"] == "missing") or (len(inside) < 2 and first["input"] is None):  # noqa: PLR2004
        raise TaskError(f"the task has no {name}")
    place = ".".join(str(part) for part in (name, *inside))
    raise TaskError(f"the task's {place} makes no sense: {first['msg']}")
