"""Drawings are rebuilt from paths; nothing else gets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.report.drawings import LARGEST, sanitise

GOOD = (
    "<?xml version='1.0' encoding='iso-8859-1'?>\n"
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'>"
    "<path class='bond' d='M 1,1\nL 9.5,9' style='fill:none;stroke:#FF0000;stroke-width:2.0px'/>"
    "{}</svg>"
)


def test_a_path_is_kept_and_its_colour_becomes_a_class() -> None:
    made = sanitise(GOOD.format(""), "Structure of O")

    assert made == (
        '<svg class="molecule" viewBox="0 0 10 10" role="img" aria-label="Structure of O">'
        '<path class="fx so" stroke-width="2.0" d="M 1,1 L 9.5,9"/></svg>'
    )


@pytest.mark.parametrize(
    "extra",
    [
        "<script>alert(1)</script>",
        "<path d='M0 0' onload='alert(1)'/>",
        "<image href='http://example.org/x.png'/>",
        "<a href='javascript:alert(1)'><path d='M0 0L1 1'/></a>",
        "<foreignObject><body/></foreignObject>",
        "<style>@import 'x'</style>",
        "<path d='M0 0\"/&gt;&lt;script&gt;'/>",
        "<path d='M0 0' style='stroke:url(http://example.org)'/>",
        "<use href='#x'/>",
        "<text>hello</text>",
        "<ellipse cx='1' cy='1' rx='1' ry='\"'/>",
    ],
)
def test_everything_else_is_dropped(extra: str) -> None:
    made = str(sanitise(GOOD.format(extra), "x"))

    for word in ("script", "alert", "http", "href", "style=", "<text", "foreign", "onload", "url"):
        assert word not in made


@pytest.mark.parametrize(
    "drawing",
    [
        "",
        "not xml",
        "<html/>",
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>",  # empty
        "<svg viewBox='0 0 1 1\" onload=\"x'><path d='M0 0'/></svg>",
        "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg viewBox='0 0 1 1'><path d='M0 0'/></svg>",
        GOOD.format("<path d='M0 0'/>" * (LARGEST // 10)),  # too large
    ],
)
def test_what_is_no_drawing_gives_none(drawing: str) -> None:
    assert sanitise(drawing, "x") is None


@given(st.text(max_size=200))
def test_the_title_is_escaped(title: str) -> None:
    made = str(sanitise(GOOD.format(""), title))

    assert made.count("<") == 3
    assert made.count('"') == 14


@given(st.text(max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    sanitise(text, "x")
    sanitise(GOOD.format(text), "x")
