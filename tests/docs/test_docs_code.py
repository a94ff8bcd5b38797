"""Every Python block of the README and the documentation runs.

The blocks of a page run one after another in one namespace, in a process and a folder of their
own, as a reader would type them. A block after the comment `<!-- not run: reason -->` is left
out. A block of any language after `<!-- file: NAME -->` is written into the folder first; if the
name begins with `test_`, pytest runs it.

A console block after `<!-- run -->` runs in its place, and what stands below its commands was
printed. A block after `<!-- printed -->` was printed too. Times, names of runs and ids of entries
may differ, and so may the order of the lines.

The README runs as its reader runs it. To import the library costs most of what a page costs, so
the processes and commands of the others begin with it imported (see `forked`), and judge with one
worker each.
"""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?:<!--\s*(?P<order>not run|file|run|printed)(?::\s*(?P<value>.+?))?\s*-->\s*\n)?"
    r"(?P<indent>[ \t]*)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
VARYING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|run-\d{8}-\d{6}-[0-9a-f]+|\([\d.e-]+ s\)|entry \d+"
)
SLOW = "<!-- slow: "
"""Begins the comment that says why a page runs with the slow tests only."""
COMMAND = "_run"
CALL = "lambda line: _c(line, shell=True)"


def blocks(text: str) -> list[re.Match[str]]:
    return list(FENCE.finditer(text))


def script(text: str) -> str:
    """Return the page as a program: its blocks on the lines where they stand in the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in blocks(text):
        code = textwrap.dedent(block["code"]).splitlines()
        if block["order"] == "run":
            code = [f"{COMMAND}({line[2:]!r})" if line.startswith("$ ") else "" for line in code]
            lines[0] = f"from subprocess import check_call as _c; {COMMAND} = {CALL}"
        elif block["language"] != "python" or block["order"]:
            continue
        first = text.count("\n", 0, block.start("code"))
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


def printed(text: str) -> list[str]:
    """Return the lines that a page says are printed."""
    return [
        line
        for block in blocks(text)
        if block["order"] in ("run", "printed")
        for line in textwrap.dedent(block["code"]).splitlines()
        if line.strip() and not line.startswith("$ ")
    ]


def comparable(line: str) -> str:
    """Return a line without what differs from run to run, and without its columns."""
    return " ".join(VARYING.sub("*", line).split())


def files(text: str) -> dict[str, str]:
    """Return the files that a page asks for: name → content."""
    return {
        block["value"]: textwrap.dedent(block["code"])
        for block in blocks(text)
        if block["order"] == "file"
    }


PAGES = [
    pytest.param(path, marks=[pytest.mark.slow] if SLOW in path.read_text() else [])
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path.exists() and script(path.read_text()).strip()
]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for name, content in files(text).items():
        (tmp_path / name).write_text(content)
    program = tmp_path / f"page_{page.stem}.py"  # A page of TRL is no module `trl`.
    program.write_text(script(text))
    tests = [name for name in files(text) if name.startswith("test_")]

    # The line numbers of the traceback are those of the page.
    run = run_cold if page.name == "README.md" else run_forked
    told = run(["-u", program.name], tmp_path)
    lines = set(map(comparable, told.splitlines()))
    assert [] == [line for line in printed(text) if comparable(line) not in lines], told
    if tests:
        run(["-m", "pytest", "-q", "--import-mode=importlib", *tests], tmp_path)


def run_cold(arguments: list[str], folder: Path) -> str:
    return output(subprocess.run, arguments, folder, PATH=path_with(Path(sys.executable).parent))


def run_forked(arguments: list[str], folder: Path) -> str:
    path = path_with(forked.commands(), Path(sys.executable).parent)
    return output(forked.run, arguments, folder, PATH=path, VLADDER_WORKERS="1")


def path_with(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def output(
    run: Callable[..., "subprocess.CompletedProcess[str]"], arguments: list[str], folder: Path,
    **environment: str,
) -> str:  # fmt: skip
    done = run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"} | environment,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{arguments[-1]} failed:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_blocks_keep_their_lines_and_share_a_page() -> None:
    page = "# Title\n```python\na = 1\n```\n1. Step\n\n   ```python\n   b = a\n   ```\n"

    assert ["", "", "a = 1", "", "", "", "", "b = a"] == script(page).splitlines()[:8]


def test_blocks_marked_as_not_run_are_left_out() -> None:
    page = "<!-- not run: needs a GPU -->\n```python\nimport cuda\n```\n"

    assert not script(page).strip()


def test_blocks_of_other_languages_are_left_out() -> None:
    assert not script("```console\n$ make demo\n```\n```toml\n[x]\n```\n").strip()


def test_marked_blocks_become_files() -> None:
    page = '<!-- file: rows.jsonl -->\n```json\n{"a": 1}\n```\n'

    assert {"rows.jsonl": '{"a": 1}\n'} == files(page)


def test_commands_marked_to_run_stand_in_their_place() -> None:
    page = "# T\n<!-- run -->\n```console\n$ echo a\na\n```\n<!-- printed -->\n```text\nb\n```\n"

    assert "_run('echo a')" == script(page).splitlines()[3]
    assert ["a", "b"] == printed(page)


def test_what_differs_from_run_to_run_is_not_compared() -> None:
    page = "entry 3, 2026-11-21 09:23:14:  took (0.0177 s) in run-20261121-092313-4ed23c"
    told = "entry 12, 2027-01-01 00:00:00: took (1e-05 s) in run-20270101-000000-ffffff"

    assert comparable(page) == comparable(told) != comparable(told + "!")
