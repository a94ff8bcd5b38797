r"""Patches that a model wrote: read and bounded before anything else, then applied exactly.

**The patch** is a unified diff, or a JSON object `{"path": "the whole file", …}` in which null
takes a file away. It is the last fenced block of an output that names `diff`, `patch`, `json` or
nothing, or the whole output where that begins as a patch does. What is thought aloud before
`</think>` is not looked at.

unidiff reads the diff. It passes over lines that it does not know, and over what a hunk has more
than its header says, so here each line must be one that was read, or a heading that is known.
A hunk stands where its header says, and what it takes away or leaves stands there to the letter:
no other place is looked for, and no line is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import zip_longest
from typing import Any, Final, NamedTuple, NoReturn
from unicodedata import normalize

from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import blocks, text_of

LONGEST: Final = 1 << 20
"""Characters of a patch."""
MOST_FILES: Final = 200
MOST_LINES: Final = 50_000
_LONGEST_PATH, _LONGEST_PART, _SHOWN = 400, 200, 120
_FENCES = frozenset({"", "diff", "patch", "json"})
_BEGINS = re.compile(r"diff --git |--- [^\n]*\n\+\+\+ ")
_FIRST = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)
_SIGNATURE = re.compile(r"\n-- \n[\d.]+\s*\Z")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(
    r"diff --git |index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?$"
    r"|(?:new file mode 100644|deleted file mode 100(?:644|755))$"
    r"|--- |\+\+\+ |@@ -|\\ No newline at end of file$|$"
)
_REFUSED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r".*\r$"), "lines that end with CR LF: end them with LF"),
    (re.compile(r"(?:new|deleted) file mode 120000|index .* 120000"), "a symbolic link"),
    (re.compile(r"(?:new|deleted) file mode 160000|index .* 160000"), "a submodule"),
    (
        re.compile(
            r"(?:old|new) mode |new file mode (?!100644$)|deleted file mode (?!100(?:644|755)$)"
        ),
        "a file's mode",
    ),
    (re.compile(r"GIT binary patch|Binary files "), "a binary file"),
    (
        re.compile(r"(?:rename|copy) (?:from|to) |(?:dis)?similarity index "),
        "a renamed or copied file: take the one away, and write the other as a new file",
    ),
)
"""Headings of patches, and what they stand for that no patch may hold."""
_CLOSED = frozenset({".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".gitmodules"})
_CLOSED_ENDS = (".pyc", ".pyo", ".pth", ".dist-info", ".egg-info", ".egg-link")
_CLOSED_NAMES = frozenset({"sitecustomize", "usercustomize"})
_HOW = "Write one unified diff, as `git diff` does, in a block that begins with ```diff."


class Hunk(NamedTuple):
    """Lines that others take the place of."""

    start: int
    """Where the first stands, counted from 0; without any, the line that the others go before."""
    before: list[str]
    after: list[str]


class Edit(NamedTuple):
    """What a patch does with one file."""

    path: str
    hunks: tuple[Hunk, ...] = ()
    whole: str | None = None
    """The whole file, where it is given as such."""
    is_new: bool = False
    is_gone: bool = False


def edits_in(content: str | bytes) -> list[Edit]:
    r"""Find the patch in a model's output, and read it.

    Raises:
        CandidateError: If there is none, or it is not one that may be applied.

    Example:
        >>> [edit.path for edit in edits_in("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n")]
        ['x.py']
    """
    text = _patch_in(content)
    edits = _whole_files(text) if text.lstrip().startswith("{") else _edits_of(text)
    if not edits:
        refuse("the patch changes nothing", "Write a patch that changes a file.")
    if len(edits) > MOST_FILES:
        refuse(f"the patch is about {len(edits)} files; at most {MOST_FILES} are read",
               "Change fewer files.")  # fmt: skip
    for edit in edits:
        if why := not_inside(edit.path):
            refuse(f"{_named(edit.path)} {why}", "Name files of the repository, from its root.")
        if why := _is_closed(edit.path):
            refuse(f"{_named(edit.path)}: {why}", "Leave such files alone.")
    paths = [edit.path for edit in edits]
    if twice := next((path for path in paths if paths.count(path) > 1), ""):
        refuse(f"{_named(twice)} is there twice", "Write all hunks of a file together.")
    return edits


def applied(edits: Sequence[Edit], files: Mapping[str, bytes]) -> dict[str, bytes | None]:
    r"""What becomes of each file that is edited; None where it is taken away.

    Args:
        edits: What is done.
        files: All files that there are.

    Raises:
        CandidateError: If an edit does not fit to the letter. It tells file, hunk and line.

    Example:
        >>> applied([Edit("x.py", whole="x = 2\n")], {"x.py": b"x = 1\n"})
        {'x.py': b'x = 2\n'}
    """
    found = {edit.path: _result(edit, files.get(edit.path)) for edit in edits}
    there = {path for path in {**files, **found} if found.get(path, b"") is not None}
    _check_names(files, there)
    return found


def not_inside(path: str) -> str:
    """Why a path names no file inside a folder, in a way that all systems read alike; "" if so.

    Example:
        >>> not_inside("../x.py"), not_inside("a/x.py")
        ('names no file inside the repository', '')
    """
    parts = path.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        return "names no file inside the repository"
    if not path.isprintable() or set(path) & set('\\"') or normalize("NFC", path) != path:
        return "holds characters that a path may not hold"
    too_long = max(map(len, parts)) > _LONGEST_PART or len(path) > _LONGEST_PATH
    return "is too long for a path" if too_long else ""


def folders_of(paths: Iterable[str]) -> set[str]:
    """All folders in which these files lie.

    Example:
        >>> sorted(folders_of(["a/b/c.py"]))
        ['a', 'a/b']
    """
    return {path[:end] for path in paths for end, letter in enumerate(path) if letter == "/"}


# ---- Finding the patch


def _patch_in(content: str | bytes) -> str:
    said = text_of(content)
    if len(said) > LONGEST:
        refuse(f"the output takes {len(said)} characters; at most {LONGEST} are read",
               "Write a shorter patch.")  # fmt: skip
    spoken = said.rpartition("</think>")[2]
    if not _BEGINS.match(spoken.lstrip()):
        fenced = list(blocks(spoken))
        mine = [each.text for each in fenced if each.language.lower() in _FENCES]
        spoken = (mine or [""])[-1] if fenced else spoken
    if spoken.count("\n") > MOST_LINES:
        refuse(f"the patch has more than {MOST_LINES} lines", "Write a shorter patch.")
    if not spoken.strip():
        refuse("there is no patch in the output", _HOW)
    if "\0" in spoken:
        refuse("the patch holds a NUL", "Write text; binary files can't be changed.")
    return spoken if spoken.endswith("\n") else f"{spoken}\n"


def _whole_files(text: str) -> list[Edit]:
    """Files of a JSON object."""
    try:
        found = json.loads(text, object_pairs_hook=list)
        pairs = [(str(path), whole) for path, whole in found]
    except (ValueError, TypeError, RecursionError) as error:
        refuse(f"the files are no JSON object: {printable(str(error), _SHOWN)}",
               'Write {"path": "the whole file", …}, or a unified diff.')  # fmt: skip
    for path, whole in pairs:
        if whole is not None and not isinstance(whole, str):
            refuse(f"{_named(path)} is no text", "Give each file as a text, or null.")
        if whole is not None and ("\0" in whole or "\r" in whole or not _is_text(whole)):
            refuse(f"{_named(path)} holds what no text file holds", "End lines with LF.")
    return [Edit(path, whole=whole, is_gone=whole is None) for path, whole in pairs]


def _edits_of(text: str) -> list[Edit]:
    """Edits of a unified diff."""
    try:
        from unidiff.errors import UnidiffParseError
        from unidiff.patch import PatchSet
    except ImportError:
        raise ToolError(
            "unidiff is not installed; pip install '.[repositories]' in a clone"
        ) from None
    text = _SIGNATURE.sub("\n", text)
    if not _is_text(text) or not _FIRST.search(text):
        refuse("there is no patch in the output", _HOW)
    for line in text.split("\n"):
        _check_heading(line)
    try:
        patches = PatchSet(StringIO(text))
    except (UnidiffParseError, ValueError, AssertionError) as error:
        refuse(f"the patch can't be read: {printable(str(error), _SHOWN)}",
               f"{_HOW} The numbers of a hunk's header must be those of its lines.")  # fmt: skip
    _check_all_is_read(text, patches)
    return [_edit_of(each) for each in patches]


def _check_heading(line: str) -> None:
    """Refuse what a heading says that no patch may hold.

    A line of a hunk begins with a space, a sign or a backslash, so none is taken for a heading.
    """
    if not line or line[0] in " +-\\":
        return
    for pattern, what in _REFUSED:
        if pattern.match(line):
            refuse(f"the patch holds {what.partition(':')[0]}", f"No patch may hold {what}.")


def _check_all_is_read(text: str, patches: Sequence[Any]) -> None:
    """See that nothing behind the first heading has been passed over.

    Raises:
        CandidateError: If a line has been.
    """
    read = {line.diff_line_no for each in patches for hunk in each for line in hunk}
    lines, first = text.split("\n"), _FIRST.search(text)
    begin = text.count("\n", 0, first.start()) if first else 0
    for number, line in enumerate(lines[begin:], begin + 1):
        if number in read:
            continue
        if line.endswith("\r"):
            refuse("the patch has lines that end with CR LF", "End all lines with LF.")
        if not _HEADING.match(line):
            refuse(
                f"line {number} of the patch belongs to no hunk: {printable(line, _SHOWN)!r}",
                "The numbers of a hunk's header must be those of its lines: "
                "@@ -first,count +first,count @@, with the lines it has and will have.",
            )


def _edit_of(patch: Any) -> Edit:
    source, target = patch.source_file, patch.target_file
    is_new, is_gone = source == "/dev/null", target == "/dev/null"
    if (is_new or source.startswith("a/")) and (is_gone or target.startswith("b/")):
        source, target = (each[2:] for each in (source, target))
    if not is_new and not is_gone and source != target:
        refuse(f"{_named(source)} becomes {_named(target)}",
               "Take the one away, and write the other as a new file.")  # fmt: skip
    return Edit(source if is_gone else target, tuple(map(_hunk, patch)), None, is_new, is_gone)


def _hunk(hunk: Any) -> Hunk:
    before, after = list[str](), list[str]()
    kept: list[list[str]] = []
    for line in hunk:
        if line.line_type == "\\":  # The line above it ends without a newline.
            for side in kept:
                side[-1] = side[-1].removesuffix("\n")
        elif line.line_type in {" ", "-", "+"}:
            kept = [side for side, signs in ((before, " -"), (after, " +"))
                    if line.line_type in signs]  # fmt: skip
            for side in kept:
                side.append(line.value)
    return Hunk(hunk.source_start - bool(before), before, after)


# ---- Applying it


def _result(edit: Edit, held: bytes | None) -> bytes | None:
    """What a file holds afterwards; None if it is taken away."""
    if edit.whole is not None:
        return edit.whole.encode()
    if edit.is_new:
        if held is not None:
            refuse(f"{_named(edit.path)} is new in the patch, and is there already",
                   "Write a hunk that changes it.")  # fmt: skip
        held = b""
    if held is None:
        refuse(f"there is no file {_named(edit.path)}", "Change a file that is there.")
    try:
        text = held.decode()
    except UnicodeDecodeError:
        refuse(f"{_named(edit.path)} is no text", "Leave binary files alone.")
    after = "".join(_replaced(edit, text))
    if "\r" in after and "\r" not in text:
        refuse(f"{_named(edit.path)} gets lines that end with CR", "End lines with LF.")
    if edit.is_gone and edit.hunks and after:
        refuse(f"{_named(edit.path)} is taken away, and lines of it are left",
               "Take all of its lines away.")  # fmt: skip
    return None if edit.is_gone else after.encode()


def _replaced(edit: Edit, text: str) -> Iterator[str]:
    """The lines of a file after its hunks."""
    lines, at = _LINE.findall(text), 0
    for number, hunk in enumerate(edit.hunks, 1):
        if hunk.start < at:
            refuse(f"{_named(edit.path)}, hunk {number} begins before the one above it ends",
                   "Write hunks in the order of their lines.")  # fmt: skip
        yield from lines[at : hunk.start]
        if hunk.start > len(lines):
            refuse(f"{_named(edit.path)}, hunk {number} begins behind the end of the file",
                   "Count the lines of the file.")  # fmt: skip
        at = hunk.start + len(hunk.before)
        if lines[hunk.start : at] != hunk.before:
            _tell_difference(edit.path, number, hunk, lines)
        yield from hunk.after
    yield from lines[at:]


def _tell_difference(path: str, number: int, hunk: Hunk, lines: Sequence[str]) -> NoReturn:
    """Say which line is another one."""
    pairs = zip_longest(hunk.before, lines[hunk.start : hunk.start + len(hunk.before)])
    place, (wanted, held) = next(
        (place, pair) for place, pair in enumerate(pairs, hunk.start + 1) if pair[0] != pair[1]
    )
    there = "behind its end" if held is None else repr(printable(held.rstrip("\n"), _SHOWN))
    said = printable(wanted.rstrip("\n"), _SHOWN)
    refuse(
        f"{_named(path)}, hunk {number} does not apply: line {place} is {there}, "
        f"and the patch says {said!r}",
        "Copy the lines around a change from the file, white space too, and count its lines.",
    )


def _check_names(before: Iterable[str], after: Collection[str]) -> None:
    """Refuse new names that other systems can't tell apart, and files that are folders, too."""
    spelled = _spellings(before)
    for lower, names in _spellings(after).items():
        if len(names) > 1 and names != spelled.get(lower):
            one, other, *_ = sorted(names)
            refuse(f"{_named(one)} and {_named(other)} differ by case alone",
                   "Give files names that are different in lower case.")  # fmt: skip
    if both := folders_of(after).intersection(after):
        refuse(f"{_named(min(both))} is both a file and a folder", "Choose another name.")


def _spellings(paths: Iterable[str]) -> dict[str, set[str]]:
    """Files and folders by their names in lower case."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for end, letter in enumerate(f"{path}/"):
            if letter == "/":
                found.setdefault(path[:end].casefold(), set()).add(path[:end])
    return found


def _is_closed(path: str) -> str:
    """What a file is that no patch may touch; "" for others."""
    for part in path.casefold().split("/"):
        if part in _CLOSED:
            return "no patch may touch history and caches"
        if part.endswith(_CLOSED_ENDS) or part.partition(".")[0] in _CLOSED_NAMES:
            return "Python or pytest would load it by itself"
    return ""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(path: str) -> str:
    return printable(path, _SHOWN) or "a file without a name"


def refuse(reason: str, feedback: str) -> NoReturn:
    """Reject a patch, and tell its writer how to mend it."""
    raise CandidateError(reason, feedback=f"{reason}. {feedback}")
