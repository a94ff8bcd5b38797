"""A folder of text files in memory that a model's tool calls act on, as an environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from verifier_ladder.candidate import Action, Terminate, ToolCall
from verifier_ladder.errors import ConfigError
from verifier_ladder.taskenvironment import Environment, StepResult
from verifier_ladder.text import mended, printable
from verifier_ladder.trajectory import from_text

MOST_FILES: Final = 500
LONGEST_FILE: Final = 200_000
"""Characters of one file."""
_LONGEST_PATH = 200
_MOST_CHARACTERS = 2_000_000
_MOST_CALLS = 100
_SHOWN = 20_000


class _RefusedError(Exception):
    """What an action asks for can't be had."""


class FileDesk(Environment):
    """An environment whose state is a folder of text files, in memory alone.

    Tools: `write_file` and `append_file` (`path`, `content`), `read_file` and `delete_file`
    (`path`), `move_file` (`path`, `to`), `list_files`. A text may hold calls in one of the forms
    that `from_text` reads; other text does nothing. Paths stay within the folder: `..`, absolute
    paths and characters that can't be seen are refused. Numbers and sizes of files are bounded.

    Example:
        >>> with FileDesk({"notes.txt": "milk"}) as desk:
        ...     _ = desk.reset()
        ...     _ = desk.step(ToolCall("write_file", {"path": "./a/b.txt", "content": "bread"}))
        ...     _ = desk.step(ToolCall("delete_file", {"path": "../../etc/passwd"}))
        ...     desk.files
        {'notes.txt': 'milk', 'a/b.txt': 'bread'}
    """

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        """Set what an episode begins with.

        Args:
            files: Text by path.

        Raises:
            ConfigError: If a path makes no sense, or the files are beyond bounds.
        """
        self.files: dict[str, str] = {}
        """Text by path, as it is now."""
        try:
            for path, content in (files or {}).items():
                self._put(_within(path), content)
        except _RefusedError as error:
            raise ConfigError(f"the files of the desk: {error}") from None
        self._first = dict(self.files)

    def begin(self, seed: int) -> str:
        """Begin with the first files; the seed changes nothing."""
        del seed
        self.files = dict(self._first)
        return "\n".join(sorted(self.files))

    def act(self, action: Action) -> StepResult:
        """Take the call, or the calls that stand in a text."""
        if isinstance(action, Terminate):
            return StepResult(terminated=True)
        if isinstance(action, ToolCall):
            return self._called(action)
        steps = [
            self.act(turn.action)
            for turn in from_text(action)[:_MOST_CALLS]
            if not isinstance(turn.action, str)
        ]
        known = [step.failed for step in steps if step.failed is not None]
        return StepResult(
            "\n".join(filter(None, (step.observation for step in steps)))[:_SHOWN],
            terminated=any(step.terminated for step in steps),
            failed=any(known) if known else None,
        )

    def save(self) -> bytes:
        """The files as JSON."""
        return json.dumps(self.files).encode()

    def load(self, saved: bytes) -> None:
        """Bring them back."""
        self.files = json.loads(saved)

    def _called(self, call: ToolCall) -> StepResult:
        try:
            done, names = _tool(call.name)
            told = done(self, *_values(call, names))
        except _RefusedError as error:
            return StepResult(json.dumps({"error": printable(error, 300)}), failed=True)
        return StepResult(told[:_SHOWN], failed=False)

    def _write(self, path: str, content: str) -> str:
        self._put(_within(path), content)
        return "written"

    def _append(self, path: str, content: str) -> str:
        place = _within(path)
        self._put(place, self.files.get(place, "") + content)
        return "written"

    def _read(self, path: str) -> str:
        return self.files[self._known(path)]

    def _delete(self, path: str) -> str:
        del self.files[self._known(path)]
        return "deleted"

    def _move(self, path: str, to: str) -> str:
        place, target = self._known(path), _within(to)
        content = self.files.pop(place)
        try:
            self._put(target, content)
        except _RefusedError:
            self.files[place] = content
            raise
        return "moved"

    def _list(self) -> str:
        return "\n".join(sorted(self.files))

    def _known(self, path: str) -> str:
        place = _within(path)
        if place not in self.files:
            raise _RefusedError("there is no such file")
        return place

    def _put(self, place: str, content: str) -> None:
        others = [other for other in self.files if other != place]
        if any(o.startswith(f"{place}/") or place.startswith(f"{o}/") for o in others):
            raise _RefusedError("a file can't be a folder")
        size = len(content) + sum(len(self.files[other]) for other in others)
        if len(others) >= MOST_FILES or len(content) > LONGEST_FILE or size > _MOST_CHARACTERS:
            raise _RefusedError("there is no room for it")
        self.files[place] = content


_TOOLS: dict[str, tuple[Callable[..., str], tuple[str, ...]]] = {
    "write_file": (FileDesk._write, ("path", "content")),  # noqa: SLF001 - it is their table
    "append_file": (FileDesk._append, ("path", "content")),  # noqa: SLF001
    "read_file": (FileDesk._read, ("path",)),  # noqa: SLF001
    "delete_file": (FileDesk._delete, ("path",)),  # noqa: SLF001
    "move_file": (FileDesk._move, ("path", "to")),  # noqa: SLF001
    "list_files": (FileDesk._list, ()),  # noqa: SLF001
}
TOOLS: Final[Mapping[str, tuple[str, ...]]] = {name: of for name, (_, of) in _TOOLS.items()}
"""The names of each tool's parameters."""


def _tool(name: str) -> tuple[Callable[..., str], tuple[str, ...]]:
    if name not in _TOOLS:
        raise _RefusedError(f"there is no tool {printable(name, 60)!r}")
    return _TOOLS[name]


def _values(call: ToolCall, names: tuple[str, ...]) -> list[str]:
    """The arguments of a call, in order; half characters are mended, for no file holds them."""
    given: Any = call.arguments
    if isinstance(given, str) or set(given) != set(names):
        raise _RefusedError(f"{call.name} takes {', '.join(names) or 'no arguments'}")
    if not all(isinstance(given[name], str) for name in names):
        raise _RefusedError("an argument must be text")
    return [mended(given[name]) for name in names]


def _within(path: str) -> str:
    """A path within the folder, in its one spelling."""
    parts = [part for part in path.split("/") if part != "."]
    is_sound = path.isprintable() and "\\" not in path and len(path) <= _LONGEST_PATH
    if not is_sound or not parts or not all(parts) or ".." in parts:
        raise _RefusedError("give a path within the folder, such as notes/today.txt")
    return "/".join(parts)
