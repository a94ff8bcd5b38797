"""Secrets are taken out of texts and records, however they are spelled."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.masking import NO_MASK, Mask
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

VALUE = "s3cret/to ken+\"é'"

SPELLINGS: list[Callable[[str], str]] = [
    str,
    quote,
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe="").lower(),
    quote_plus,
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    repr,
    html.escape,
    lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    lambda text: text.encode().hex(),
]


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_secret_is_known_in_every_usual_spelling(spelled: Callable[[str], str]) -> None:
    said = Mask({"A_KEY": VALUE})(f"before {spelled(VALUE)} after")

    assert "[A_KEY]" in said
    assert VALUE not in said
    assert spelled(VALUE) not in said
    assert said.startswith("before ")
    assert said.endswith(" after")


@given(st.binary(max_size=20), st.text("abcdefXYZ0189", min_size=8, max_size=40), st.binary())
def test_a_secret_inside_of_longer_text_in_base64_leaves_at_most_its_edges(
    before: bytes, secret: str, after: bytes
) -> None:
    whole = base64.b64encode(before + secret.encode() + after).decode()

    said = Mask({"A_KEY": secret})(whole)

    # Three bytes are four characters; one at each end may belong to a neighbour's byte too.
    assert "[A_KEY]" in said
    assert len(whole) - len(said.replace("[A_KEY]", "")) >= 8 * len(secret) // 6 - 1


@given(st.text(), st.text(min_size=4), st.text())
def test_no_text_keeps_a_secret(before: str, secret: str, after: str) -> None:
    said = Mask({"K": secret})(before + secret + after)

    assert secret not in said.replace("[K]", "")


def test_the_longer_of_two_secrets_goes_first() -> None:
    mask = Mask({"SHORT": "open", "LONG": "open-sesame"})

    assert "[LONG] and [SHORT]" == mask("open-sesame and open")


def test_the_lines_of_a_key_and_the_password_of_an_address_are_known_alone() -> None:
    mask = Mask({"PEM": "-----BEGIN-----\nMIIEow\nabcdefghijkl\n", "DB": "pg://me:passw@host/db"})

    assert "[PEM] | MIIEow | [PEM] | [DB]" == mask(
        "-----BEGIN----- | MIIEow | abcdefghijkl | passw"
    )


def test_what_a_cut_has_left_of_a_secret_is_known() -> None:
    mask = Mask({"A_KEY": "abcdefghijklmnop"})

    assert "… [A_KEY] lines" == mask("… mnop lines")
    assert "told [A_KEY] … [cut]" == mask("told abcde … [cut]")
    assert "told [A_KEY]" == mask("told abcdefghi")
    assert "told abcd" == mask("told abcd")


def test_a_verdict_is_masked_in_all_its_words_and_keeps_its_numbers() -> None:
    mask = Mask({"A_KEY": "sesame"})
    said = Verdict.reject(
        "no sesame", score=0.25, feedback="sesame", turns=(TurnVerdict(0, 1.0, "sesame"),),
        evidence={"sesame": ["sesame", {"deep": "c2VzYW1l"}], "n": 7}, cost=Cost(1.0),
    )  # fmt: skip

    hidden = mask(said)

    assert ("no [A_KEY]", "[A_KEY]") == (hidden.reason, hidden.feedback)
    assert (TurnVerdict(0, 1.0, "[A_KEY]"),) == hidden.turns
    assert {"[A_KEY]": ["[A_KEY]", {"deep": "[A_KEY]"}], "n": 7} == hidden.evidence
    assert (Outcome.REJECT, 0.25, Cost(1.0)) == (hidden.outcome, hidden.score, hidden.cost)
    assert "sesame" not in repr(hidden)


@pytest.mark.parametrize("value", ["s3cret ", " s3cret", "s3cret\r", "s3cret\n"])
def test_a_secret_is_known_without_the_space_around_it(value: str) -> None:
    assert "([A_KEY])" == Mask({"A_KEY": value})("(s3cret)")


def test_a_name_that_holds_a_secret_is_another_name_and_the_verdict_stands() -> None:
    said = Verdict.accept(
        1.0, scores={"style": 0.5, "sesame": 1.0}, artifacts={"sesame.log": b"x", "a.log": b"y"}
    )

    hidden = Mask({"A_KEY": "sesame"})(said)

    assert {"style": 0.5, "masked_2": 1.0} == hidden.scores
    assert ["masked_1", "a.log"] == list(hidden.artifacts)
    assert (Outcome.ACCEPT, 1.0) == (hidden.outcome, hidden.score)


def test_nothing_to_hide_changes_nothing() -> None:
    said = Verdict.accept(1.0, feedback="all")

    assert said is NO_MASK(said)
    assert said is Mask({"A_KEY": "sesame"})(said)
    assert NO_MASK is NO_MASK.and_also({})


def test_a_mask_learns_more() -> None:
    mask = Mask({"ONE": "first"}).and_also({"TWO": "second"})

    assert "[ONE] [TWO]" == mask("first second")
    assert mask is mask.and_also({"ONE": "first"})
