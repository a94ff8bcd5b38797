"""A desk of files holds text in memory, and nothing outside of it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from verifier_ladder import ConfigError, Environment, StepResult, ToolCall
from verifier_ladder.candidate import Action
from verifier_ladder.testing.environment import EnvironmentTestCase
from verifier_ladder.tiers.filedesk import MOST_FILES, FileDesk

FIRST = {"notes.txt": "milk", "old/a.txt": "a"}


def call(name: str, *values: Any) -> ToolCall:
    names = ("path", "to") if name == "move_file" else ("path", "content")
    return ToolCall(name, dict(zip(names, values, strict=False)))


class TestFileDesk(EnvironmentTestCase):
    @pytest.fixture
    def make(self) -> Callable[[], Environment]:
        return lambda: FileDesk(FIRST)

    @pytest.fixture
    def actions(self) -> Sequence[Action]:
        return [
            call("write_file", "new/b.txt", "b"), call("append_file", "notes.txt", "\nbread"),
            call("move_file", "old/a.txt", "a.txt"), call("read_file", "notes.txt"),
            '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>',
            call("delete_file", "new/b.txt"),
        ]  # fmt: skip


@pytest.fixture
def desk() -> Any:
    with FileDesk(FIRST) as made:
        made.reset()
        yield made


def test_files_are_written_moved_and_read(desk: FileDesk) -> None:
    desk.step(call("move_file", "./old/./a.txt", "b.txt"))
    desk.step(call("append_file", "notes.txt", "!"))

    assert {"notes.txt": "milk!", "b.txt": "a"} == desk.files
    assert StepResult("milk!", failed=False) == desk.step(call("read_file", "notes.txt"))


@pytest.mark.parametrize(
    "action",
    [
        *(call("write_file", path, "x") for path in (
            "/etc/passwd", "../x", "a/../../x", "a\\b", "a\0b", "", ".", "x/", "a//b", "x" * 300,
            "notes.txt/x", "old", "\u202ex",
        )),
        call("write_file", "x", "y" * 200_001), call("write_file", "x", 3),
        call("write_file", "x"), call("move_file", "notes.txt", "../x"),
        call("move_file", "none", "x"), call("read_file", "none"), call("delete_file", "old"),
        ToolCall("write_file", "x"), ToolCall("run", {"path": "x"}),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_refused_changes_nothing(desk: FileDesk, action: ToolCall) -> None:
    assert desk.step(action).failed
    assert FIRST == desk.files


def test_a_folder_has_bounds(desk: FileDesk) -> None:
    steps = [desk.step(call("write_file", f"f{n}", "x")) for n in range(MOST_FILES)]

    assert [False] * (MOST_FILES - 2) + [True] * 2 == [step.failed for step in steps]


@pytest.mark.parametrize("files", [{"../x": ""}, {"a": "", "a/b": ""}, {"a": "x" * 200_001}])
def test_files_without_sense_are_refused(files: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="desk"):
        FileDesk(files)
