"""Patches that a model wrote: read and bounded, then applied to the letter."""

import difflib
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.patch import Edit, applied, edits_in, not_inside

FILES = {"a.py": b"one\ntwo\nthree\nfour\n", "b/c.py": b"x\n", "image.png": b"\xff\xd8\xff\n"}
HEAD = "--- a/a.py\n+++ b/a.py\n"
AFTER = b"one\n2\nthree\nfour\n"
GOOD = HEAD + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
GONE = "--- a/b/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


def result(said: str, files: dict[str, bytes] | None = None) -> dict[str, bytes | None]:
    return applied(edits_in(said), FILES if files is None else files)


@pytest.mark.parametrize(
    ("said", "path", "held"),
    [
        (GOOD, "a.py", AFTER),
        (f"I thought.\n```diff\n{GOOD}```", "a.py", AFTER),
        (f"```patch\n{HEAD}@@ -1 +1 @@\n-x\n+y\n```\n```\n{GOOD}```", "a.py", AFTER),
        (GOOD + "@@ -4 +4,2 @@\n four\n+five\n", "a.py", b"one\n2\nthree\nfour\nfive\n"),
        (GOOD.replace("a/a.py", "a.py").replace("b/a.py", "a.py"), "a.py", AFTER),
        (HEAD + "@@ -0,0 +1 @@\n+zero\n", "a.py", b"zero\none\ntwo\nthree\nfour\n"),
        (HEAD + "@@ -4,0 +5 @@\n+five\n", "a.py", b"one\ntwo\nthree\nfour\nfive\n"),
        (
            HEAD + "@@ -4 +4 @@\n-four\n+4\n\\ No newline at end of file\n", "a.py",
            b"one\ntwo\nthree\n4",
        ),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n", "new.py", b"x\n"),
        (GONE, "b/c.py", None),
        (json.dumps({"b/c.py": None}), "b/c.py", None),
        (f"```json\n{json.dumps({'a.py': 'new'})}\n```", "a.py", b"new"),
        (GOOD + "-- \n2.47.1\n\n", "a.py", AFTER),
        (f"diff --git a/a.py b/a.py\nindex 83db48f..bf269f4 100755\n{GOOD}", "a.py", AFTER),
        (f"diff --git a/b/c.py b/b/c.py\ndeleted file mode 100755\n{GONE}", "b/c.py", None),
        (GOOD + "\n\n", "a.py", AFTER),
        ("Some words.\n\n" + GOOD, "a.py", AFTER),
    ],
)  # fmt: skip
def test_a_patch_is_found_and_applied(said: str, path: str, held: bytes | None) -> None:
    assert result(said) == {path: held}


def test_lines_of_a_patch_may_hold_fences_and_signs() -> None:
    files = {"README": b"```\n-- a\n++ b\n```\n"}
    patch = (
        "--- a/README\n+++ b/README\n@@ -1,4 +1,4 @@\n ```\n--- a\n+-- c\n ++ b\n ```\n"
    )  # fmt: skip

    assert result(patch, files) == {"README": b"```\n-- c\n++ b\n```\n"}


def test_lines_that_end_with_cr_lf_stay_so() -> None:
    patch = HEAD + "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"

    assert result(patch, {"a.py": b"one\r\ntwo\r\n"}) == {"a.py": b"one\r\n2\r\n"}


WRONG = {
    "other lines": (GOOD.replace("-two", "-tow"), "hunk 1 does not apply: line 2 is 'two'"),
    "other white space": (GOOD.replace(" three", "  three"), "line 3 is 'three'"),
    "another place": (GOOD.replace("-1,3", "-2,3"), "line 2 is 'two', and the patch says 'one'"),
    "a place behind the end": (HEAD + "@@ -9 +9 @@\n-x\n+y\n", "hunk 1 begins behind the end"),
    "more lines than there are": (
        HEAD + "@@ -4,2 +4 @@\n four\n-five\n", "line 5 is behind its end"
    ),
    "lines put behind the end": (HEAD + "@@ -9,0 +9 @@\n+y\n", "hunk 1 begins behind the end"),
    "hunks in another order": (
        HEAD + "@@ -3 +3 @@\n-three\n+3\n@@ -1 +1 @@\n-one\n+1\n", "before the one above"
    ),
    "more lines than the header says": (GOOD + "+2b\n", "line 8 of the patch belongs to no hunk"),
    "fewer lines than the header says": (GOOD.replace("-1,3", "-1,4"), "can't be read"),
    "no newline where there is one": (
        HEAD + "@@ -4 +4 @@\n-four\n\\ No newline at end of file\n+4\n", "does not apply"
    ),
    "a file that is not there": (GOOD.replace("a.py", "z.py"), "there is no file z.py"),
    "a new file that is there": (
        "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", "is there already"
    ),
    "a file of which lines are left": (
        "--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "lines of it are left"
    ),
    "a file twice": (GOOD + GOOD, "is there twice"),
    "bytes": (GOOD.replace("a.py", "image.png"), "is no text"),
    "another name": (GOOD.replace("b/a.py", "b/z.py"), "a.py becomes z.py"),
    "a file that is a folder": (json.dumps({"b": "x"}), "both a file and a folder"),
    "a folder that is a file": (json.dumps({"a.py/x": "x"}), "both a file and a folder"),
    "a name that is there in another case": (json.dumps({"B/d.py": "x"}), "differ by case"),
    "new names of one case": (json.dumps({"new": "x", "New": "x"}), "differ by case"),
    "lines that end with CR": (HEAD + "@@ -1 +1 @@\n-one\n+1\r\n", "end with CR"),
    "CR LF everywhere": (GOOD.replace("\n", "\r\n"), "CR LF"),
    "NUL": (GOOD.replace("+2", "+\0"), "NUL"),
    "half of a character": (json.dumps({"a.py": "x"})[:-2] + '\\ud800"}', "no text file"),
    "a number": ('{"a.py": 3}', "is no text"),
    "a list": ("{[3]}", "no JSON object"),
    "one name twice": ('{"a.py": "x", "a.py": "y"}', "is there twice"),
    "nothing": ("", "no patch"),
    "words": ("Change two to 2.", "no patch"),
    "another language": ("```python\nx = 1\n```", "no patch"),
    "an empty object": ("{}", "changes nothing"),
    "a link": ("diff --git a/x b/x\nnew file mode 120000\n", "a symbolic link"),
    "a submodule": ("diff --git a/x b/x\nnew file mode 160000\n", "a submodule"),
    "a program": ("diff --git a/x b/x\nnew file mode 100755\n", "a file's mode"),
    "another mode": ("diff --git a/x b/x\ndeleted file mode 100600\n", "a file's mode"),
    "a mode": ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n", "a file's mode"),
    "a new name": (
        "diff --git a/a.py b/d.py\nrename from a.py\nrename to d.py\n", "renamed or copied"
    ),
    "a binary": ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "a binary file"),
    "too many files": (json.dumps({f"{n}.py": "x" for n in range(201)}), "at most 200"),
    "too long a text": ("x" * (1 << 20) + "x", "at most"),
    "too many lines": (HEAD + "\n" * 50_001, "more than 50000 lines"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "reason"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_to_the_letter_is_refused(said: str, reason: str) -> None:
    with pytest.raises(CandidateError) as error:
        result(said)

    assert reason in str(error.value)
    assert error.value.feedback


@pytest.mark.parametrize(
    "path",
    ["../x", "/x", "a//b", "a/./b", ".", "", "a/../b", "a\\b", 'a"b', "a\nb", "a\u202eb",
     "x" * 201, "/".join(["x" * 100] * 5), "e\u0301.py"],
)  # fmt: skip
def test_a_path_that_systems_read_differently_is_refused(path: str) -> None:
    assert not_inside(path)
    with pytest.raises(CandidateError):
        edits_in(json.dumps({path: "x"}))


@pytest.mark.parametrize(
    "path",
    [".git/config", "a/.GIT/config", ".gitmodules", "a/__pycache__/b.py", "a.pyc", "x.pth",
     "a/sitecustomize.py", "usercustomize/__init__.py", "x-1.dist-info/METADATA", "x.egg-info"],
)  # fmt: skip
def test_what_is_loaded_by_itself_is_closed(path: str) -> None:
    with pytest.raises(CandidateError):
        edits_in(json.dumps({path: "x"}))


def test_names_that_differ_by_case_from_the_start_may_stay() -> None:
    files = {"A.py": b"x", "a.py": b"y"}

    assert result(json.dumps({"a.py": "z"}), files) == {"a.py": b"z"}
    with pytest.raises(CandidateError, match="differ by case"):
        result(json.dumps({"a.PY": "z"}), files)


@pytest.mark.parametrize("path", [".github/x.yml", ".gitignore", "a/git/b.py", "path.py", "é.py"])
def test_other_names_are_open(path: str) -> None:
    assert edits_in(json.dumps({path: "x"})) == [Edit(path, whole="x")]


LINES = st.lists(
    st.sampled_from(["a", "b", "", " ", "-", "+x", "@@ -1 +1 @@", "--- a/a.py"]), max_size=8
)


@given(LINES, LINES)
def test_what_difflib_writes_is_applied(before: list[str], after: list[str]) -> None:
    """Whatever the lines look like."""
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    patch = "".join(difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), "a/a.py", "b/a.py", n=1
    ))  # fmt: skip
    if patch:
        assert result(patch, {"a.py": old.encode()}) == {"a.py": new.encode()}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(said: str) -> None:
    for text in (said, GOOD + said, HEAD + said, "{" + said):
        with suppress(CandidateError):
            result(text)
