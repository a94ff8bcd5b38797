"""Columns: which column of a rollout file holds the candidate, its task and its group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verifier_ladder.errors import ConfigError

CONTENT_NAMES = (
    "completion", "completions", "response", "output", "generation", "generated_text",
    "prediction", "content", "text", "smiles",
)  # fmt: skip
GROUP_NAMES = (
    "prompt_id", "group", "group_id", "problem_id", "question_id", "task_id", "uid", "prompt",
)  # fmt: skip
TASK_NAMES = ("task", "target", "ground_truth", "reference", "answer", "label", "solution")
_PARTS = ("content", "task", "group", "prompt")
TaskColumns = str | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Columns:
    """Where to find what in a row."""

    content: str
    """The completion: text, or chat messages of which the last assistant text counts."""
    task: str | None = None
    """The column that holds the whole task: a JSON object, or one value for `single`."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Task fields that have a column of their own: field → column."""
    group: str | None = None
    """The column that names the prompt; None if every row stands alone."""
    single: str = ""
    """Name of the task field that a plain value of the task column becomes."""
    assumed: tuple[str, ...] = ()
    """What was not said and is therefore assumed, as sentences."""
    prompt: str | None = None
    """The column of the prompt, which is kept; None keeps none."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that is read."""
        listed = (self.content, self.task, self.group, self.prompt, *self.fields.values())
        return tuple(dict.fromkeys(name for name in listed if name is not None))

    def as_json(self) -> dict[str, Any]:
        """What affects the samples made from a row."""
        # Where it names no group a prompt changes no sample: it may be kept for those of before.
        prompt = {"prompt": self.prompt} if self.prompt and self.group is None else {}
        return {
            "content": self.content, "task": self.task, "fields": dict(self.fields),
            "group": self.group, "single": self.single, **prompt,
        }  # fmt: skip


def choose_columns(
    wanted: Mapping[str, TaskColumns] | None,
    rows: Sequence[Mapping[str, Any]],
    reads: Iterable[str] | None,
) -> Columns:
    """Settle the columns from what was asked for and from the first rows of the file.

    Args:
        wanted: Column of `content`, `task` and `group`; what is left out is looked for. `task`
            is one column, a list of columns, or an object from task field to column. A `prompt`
            is never looked for: it is kept only where somebody asks for that.
        rows: The first rows.
        reads: Task fields that the ladder's verifiers read; None if one of them reads all.

    Raises:
        ConfigError: If a column does not exist, or the completion can't be found.

    Example:
        >>> choose_columns({"content": "out"}, [{"out": "4", "prompt_id": 1}], []).group
        'prompt_id'
    """
    given = dict(wanted or {})
    if unknown := set(given) - set(_PARTS):
        raise ConfigError(
            f"columns has no part {', '.join(sorted(unknown))}; it has {', '.join(_PARTS)}"
        )
    there = list(dict.fromkeys(name for row in rows for name in row))
    assumed: list[str] = []
    content = _one(given, "content", there) or _found("content", CONTENT_NAMES, there, assumed)
    if content is None:
        raise ConfigError(
            f"no column is called like a completion; the file has {_list(there)}. Name it with "
            'columns={"content": …} or --content'
        )
    group = _one(given, "group", there) or _found("group", GROUP_NAMES, there, assumed)
    prompt = _one(given, "prompt", there)
    if group is None and prompt is None:
        assumed.append("no column names the prompt, so every row is a group of its own (--group)")
    fields = sorted(reads) if reads is not None else None
    task, mapping = _task(given.get("task"), fields, there, assumed)
    single = fields[0] if task and fields and len(fields) == 1 else task or ""
    return Columns(content, task, mapping, group, single, tuple(assumed), prompt)


def _one(given: Mapping[str, TaskColumns], part: str, there: list[str]) -> str | None:
    name = given.get(part)
    if name is None:
        return None
    if not isinstance(name, str):
        raise ConfigError(f"columns[{part!r}] must be the name of one column, not {name!r}")
    return _existing(name, there)


def _existing(name: str, there: list[str]) -> str:
    if name not in there:
        raise ConfigError(f"no column is called {name!r}; the file has {_list(there)}")
    return name


def _found(part: str, names: Sequence[str], there: list[str], assumed: list[str]) -> str | None:
    name = next((name for name in names if name in there), None)
    if name is not None:
        assumed.append(f"{part} is the column {name!r} (--{part})")
    return name


def _task(
    wanted: TaskColumns | None, reads: list[str] | None, there: list[str], assumed: list[str]
) -> tuple[str | None, dict[str, str]]:
    """The column of the whole task, and the columns of single fields."""
    if isinstance(wanted, str):
        return _existing(wanted, there), {}
    if isinstance(wanted, Mapping):
        return None, {field: _existing(str(name), there) for field, name in wanted.items()}
    if wanted is not None:
        return None, {str(name): _existing(str(name), there) for name in wanted}
    if reads is None:
        return _found("task", TASK_NAMES, there, assumed), {}
    mapping = {name: name for name in reads if name in there}
    if mapping:
        assumed.append(f"the task is made of {_list(mapping)} (--task)")
    elif reads:
        task = _found("task", TASK_NAMES, there, assumed)
        if task is None:
            assumed.append(f"no column gives {_list(reads)}, which the verifiers read (--task)")
        return task, {}
    return None, mapping


def _list(names: Iterable[str]) -> str:
    listed = [repr(name) for name in names]
    shown = ", ".join(listed[:12]) + (", …" if len(listed) > 12 else "")  # noqa: PLR2004
    return shown or "no columns"
