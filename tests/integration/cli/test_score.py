"""`vladder score` as a program: killed, interrupted, piped, run again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import forked
import pytest

from verifier_ladder.ledger import open_ledger

VERIFIERS = """
import os, time
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", task_fields=["target"], timeout=5)
def exact(candidate):
    while os.path.exists("hold") and candidate.content == "hold":
        time.sleep(0.05)
    if candidate.content == "crash":
        os._exit(9)
    return candidate.content == candidate.task["target"]
"""
LADDER = 'name = "exactness"\nverifiers = ["exact"]\n'
VLADDER = (sys.executable, "-m", "verifier_ladder.cli")
SCORE = ("score", "rollouts.jsonl", "--ladder", "ladder.toml", "--import", "mine.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(VERIFIERS)
    (tmp_path / "ladder.toml").write_text(LADDER)
    rows = [
        {"prompt_id": i // 4, "completion": str(i % 3), "target": str(i % 2)} for i in range(3000)
    ]
    rows[2999]["completion"] = "hold"
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def made(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
        process = forked.Popen(
            [*VLADDER, *arguments], cwd=folder, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **environment},
        )  # fmt: skip
        running.append(process)
        return process

    yield made
    for process in running:
        process.kill()
        process.communicate()


def run(start: Start, *arguments: str, **environment: str) -> tuple[int, str, str]:
    process = start(*arguments, **environment)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def recorded(folder: Path) -> int:
    """How many score calls the ledger holds."""
    if not (folder / "ledger.db").exists():
        return 0
    with open_ledger(folder / "ledger.db") as ledger:
        return sum(1 for _ in ledger.entries(kind="score"))


def expected() -> list[float]:
    return [*(float(str(i % 3) == str(i % 2)) for i in range(2999)), 0.0]


def test_a_killed_run_goes_on_and_misses_nothing(folder: Path, start: Start) -> None:
    (folder / "hold").touch()
    first = start(*SCORE)
    wait_for(lambda: recorded(folder) == 2)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (folder / "hold").unlink()

    code, out, err = run(start, *SCORE, "--json", "--out", "out.jsonl")

    assert 0 == code, err
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert expected() == [row["reward"] for row in rows]
    assert 3000 == json.loads(out)["rows"]
    assert 3 == recorded(folder)


def test_prompts_are_kept_where_their_column_is_named(folder: Path, start: Start) -> None:
    row = {"question": "1 + 1 =", "completion": "2", "target": "2"}
    (folder / "rollouts.jsonl").write_text(json.dumps(row) + "\n")

    code, _, err = run(start, *SCORE, "--prompt", "question")

    assert 0 == code, err
    with open_ledger(folder / "ledger.db") as ledger:
        (entry,) = ledger.entries(kind="transcript")
        (group,) = ledger.read(entry).facts["groups"].values()
    assert {"prompt": "1 + 1 ="} == group


def test_ctrl_c_exits_with_130_and_says_how_to_go_on(folder: Path, start: Start) -> None:
    (folder / "hold").touch()
    process = start(*SCORE)
    wait_for(lambda: recorded(folder) == 2)
    process.send_signal(signal.SIGINT)

    _, err = process.communicate(timeout=300)

    assert 130 == process.returncode
    assert "Run the same command again" in err
    assert "Traceback" not in err


def test_a_row_that_crashes_its_verifier_costs_only_itself(folder: Path, start: Start) -> None:
    rows: list[Any] = [{"completion": text, "target": "a"} for text in ("a", "crash", "b")]
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, err = run(start, *SCORE, "--json")

    made = json.loads(out)
    assert 0 == code, err
    assert (3, {}) == (made["known"], made["unknown"])


def test_a_file_scored_before_is_told_to_hold_nothing_new(folder: Path, start: Start) -> None:
    (folder / "rollouts.jsonl").write_text('{"completion":"a","target":"a"}\n')

    _, _, first = run(start, *SCORE)
    _, _, again = run(start, *SCORE)

    assert "Plan for 1 candidate," in first
    assert "No candidate is new: nothing is planned." in again
    assert "Plan for" not in again


def test_strict_makes_bad_rows_an_exit_code(folder: Path, start: Start) -> None:
    (folder / "rollouts.jsonl").write_text('{"completion":"a","target":"a"}\nnonsense\n')

    assert 0 == run(start, *SCORE)[0]
    assert 1 == run(start, *SCORE, "--strict")[0]


def test_colours_are_left_out_where_nobody_sees_them(start: Start) -> None:
    _, out, _ = run(start, "--help", NO_COLOR="1")
    _, doctor, _ = run(start, "campaign", "--help")

    assert "\x1b" not in out + doctor


def test_a_reader_that_goes_away_is_no_error(folder: Path, start: Start) -> None:
    run(start, *SCORE)
    read, write = os.pipe()
    os.close(read)

    done = forked.run(
        [*VLADDER, "ledger", "show", "1"],
        cwd=folder, stdout=write, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
    )  # fmt: skip

    os.close(write)
    assert 141 == done.returncode
    assert "" == done.stderr


@pytest.mark.parametrize("words", ["verifier ls", "verifier ls --json", "--help", "doctor --json"])
def test_a_full_disk_is_told_in_one_line(folder: Path, words: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = forked.run(
            [*VLADDER, *words.split()],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )

    assert 1 == len([line for line in done.stderr.splitlines() if "No space left" in line])
    assert "Traceback" not in done.stderr
    assert done.returncode not in {0, 1, 120}


ENDED = """
import os, pathlib, signal
from verifier_ladder.cli import main

pathlib.Path.replace = pathlib.Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        ("ledger", "backup", "out/copy.db"),
        ("ledger", "export", "--out", "out/rows.jsonl"),
        ("ledger", "export", "--out", "out/log", "--format", "tiles"),
    ],
)
def test_sigterm_leaves_nothing_half_written_and_exits_with_143(
    folder: Path, start: Start, command: tuple[str, ...]
) -> None:
    rows = (folder / "rollouts.jsonl").read_text().splitlines()[:40]
    (folder / "rollouts.jsonl").write_text("\n".join(rows))
    run(start, *SCORE)
    (folder / "out").mkdir()

    ended = forked.run(
        [sys.executable, "-c", ENDED, *command], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert 143 == ended.returncode, ended.stderr
    assert "Traceback" not in ended.stderr
    assert [] == list((folder / "out").iterdir())
