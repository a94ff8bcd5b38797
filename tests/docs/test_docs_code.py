"""Every Python block of the README and the documentation runs.

The blocks of a page run one after another in one namespace, in a process and a folder of their
own, as a reader would type them. A block after the comment `<!-- not run: reason -->` is left
out. A block of any language after `<!-- file: NAME -->` is written into the folder first; if the
name begins with `test_`, pytest runs it.
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"(?:<!--\s*(?P<order>not run|file):\s*(?P<value>.+?)\s*-->\s*\n)?"
    r"(?P<indent>[ \t]*)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


def blocks(text: str) -> list[re.Match[str]]:
    return list(FENCE.finditer(text))


def script(text: str) -> str:
    """Return the page as a program: its blocks on the lines where they stand in the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in blocks(text):
        if block["language"] != "python" or block["order"]:
            continue
        first = text.count("\n", 0, block.start("code"))
        code = textwrap.dedent(block["code"]).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


def files(text: str) -> dict[str, str]:
    """Return the files that a page asks for: name → content."""
    return {
        block["value"]: textwrap.dedent(block["code"])
        for block in blocks(text)
        if block["order"] == "file"
    }


PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path.exists() and script(path.read_text()).strip()
]


@pytest.mark.timeout(200)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for name, content in files(text).items():
        (tmp_path / name).write_text(content)
    program = tmp_path / f"{page.stem}.py"
    program.write_text(script(text))
    tests = [name for name in files(text) if name.startswith("test_")]

    # The line numbers of the traceback are those of the page.
    run(["-P", program.name], tmp_path)
    if tests:
        run(["-m", "pytest", "-q", "--import-mode=importlib", *tests], tmp_path)


def run(arguments: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{arguments[-1]} failed:\n{done.stdout}{done.stderr}"


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
