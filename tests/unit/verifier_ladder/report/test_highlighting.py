"""Code is shown with its words marked, and every character of it stays what it was."""

import html
import re
from dataclasses import replace
from typing import Any

import pytest

from verifier_ladder.artifact import Artifact
from verifier_ladder.candidate import Candidate
from verifier_ladder.report.highlighting import LONGEST, READER, language_of, marked, question
from verifier_ladder.verdict import Verdict

HOSTILE = 'x = "</span><script>alert(1)</script>"  # <img onerror=x>'


def read(text: str, language: str) -> Verdict:
    asked = question(text, language)
    assert asked is not None
    return READER.judge([Candidate("code", asked)])[0]


def shown(text: str, language: str = "") -> str:
    made = marked(text, read(text, language))
    assert made is not None
    return made


def words(code: str, kind: str) -> list[str]:
    return [html.unescape(w) for w in re.findall(rf'<span class="code-{kind}">(.*?)</span>', code)]


def plain(code: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", code))


@pytest.mark.parametrize("text", ["def f(n):\n\treturn n + 1  # ü 😀\n", HOSTILE, "'''open", "\\"])
def test_nothing_of_a_text_is_lost_or_obeyed(text: str) -> None:
    code = shown(text, "python")

    assert text == plain(code)
    assert not re.findall(r"<(?!/?span\b)", code)


def test_keywords_texts_numbers_and_comments_are_told_apart() -> None:
    code = shown("def f(n):\n    return 'a', 7  # why", "python")

    assert ["def", "return"] == words(code, "keyword")
    assert (["f"], ["7"], ["# why"]) == tuple(
        words(code, k) for k in ("name", "number", "comment")
    )


def test_of_prose_only_its_blocks_are_code() -> None:
    code = shown("Select from it:\n```sql\nSELECT wing FROM birds\n```\nThat is all from me.")

    assert ["SELECT", "FROM"] == words(code, "keyword")


@pytest.mark.parametrize(
    ("text", "language"),
    [("It is 4.", ""), ("```brainf\n+\n```", ""), ("x" * (LONGEST + 1), "python"), ("", "python")],
)
def test_what_is_no_code_or_too_long_stays_plain(text: str, language: str) -> None:
    assert question(text, language) is None


def test_what_takes_long_is_marked_as_far_as_the_time_goes(monkeypatch: Any) -> None:
    monkeypatch.setattr("verifier_ladder.report.highlighting._SECONDS", -1.0)

    assert "def f(): pass" == shown("def f(): pass", "python")


@pytest.mark.parametrize(
    "told",
    [
        b"[0, 4, 99]", b"[0, 999, 0]", b"[3, 1, 0, 0, 1, 0]", b"[-1, 2, 0]", b'["<b>", 1, 0]',
        b"[0]", b"{}", b"", b"[true, 1, 0]",
    ],
)  # fmt: skip
def test_a_reader_that_was_taken_over_marks_nothing(told: bytes) -> None:
    taken: Any = {"marks.json": Artifact.of(told, "marks.json")}

    assert marked("x = 1", replace(read("x = 1", "python"), artifacts=taken)) is None


def test_the_language_is_known_by_the_task_the_kind_or_the_verifiers() -> None:
    software = [{"name": "code-stdio", "domain": "software"}]

    assert "cpp" == language_of("text", software, {"language": "c++17"})
    assert "sql" == language_of("sql", [], {})
    assert "python" == language_of("text", [{"name": "back-test", "domain": "forecasting"}], {})
    assert "" == language_of("text", [{"name": "numeric"}], {"language": ["<b>"]})
