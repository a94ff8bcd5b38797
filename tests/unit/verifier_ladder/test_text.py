"""Model-made text never reaches a terminal or a spreadsheet as anything but text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.text import csv_cell, printable

ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),  # colours
        ("\x1b]0;title\x07text", "text"),  # window title
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),  # hyperlink
        ("\x9b2Jcleared", "cleared"),  # eight-bit control sequence
        ("a\u202eb\u2066c", "abc"),  # direction overrides
        ("a\n\tb\r\nc\u2028d", "a b c d"),  # lines
        ("a\u200b b", "a b"),  # zero width
        ("\ud800x", "x"),  # lone surrogate
        (b"\xff\x1b[1mb", "\ufffdb"),  # bytes
        (None, "None"),
    ],
)
def test_only_visible_text_is_left(text: object, shown: str) -> None:
    assert shown == printable(text)


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert "ab…" == printable("abcdef", 3)


def test_without_a_limit_nothing_is_cut() -> None:
    assert "x" * 5000 == printable("x" * 5000, None)


@given(ANY_TEXT)
def test_no_control_character_survives(text: str) -> None:
    shown = printable(text, None)

    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(ANY_TEXT, st.integers(min_value=1, max_value=50))
def test_the_limit_holds(text: str, limit: int) -> None:
    assert len(printable(text, limit)) <= limit


@given(ANY_TEXT)
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = printable(text, None)

    assert once == printable(once, None)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "=cmd|'/c calc'!A0",
                                  "\n=1", "\u00a0=1", "\u200b=1", "\uff1d1"])  # fmt: skip
def test_a_formula_is_quoted(text: str) -> None:
    assert "'" + text == csv_cell(text)


@pytest.mark.parametrize("value", [-1.5, 3, None, True, "CCO", "a=b"])
def test_other_values_stay_as_they_are(value: object) -> None:
    assert value == csv_cell(value)


@pytest.mark.parametrize("obeyed", ["\x1b", "\x07", "\x9b", "\u202e", "\u2067"])
def test_a_cell_holds_nothing_that_a_terminal_obeys_or_that_turns_text_round(obeyed: str) -> None:
    assert f"a\\u{ord(obeyed):04x}[2J" == csv_cell(f"a{obeyed}[2J")


@pytest.mark.parametrize("text", ["two\nlines", "a\tb", "\U0001f469\u200d\U0001f4bb", "\u05e9"])
def test_a_cell_keeps_what_people_write(text: str) -> None:
    assert text == csv_cell(text)
