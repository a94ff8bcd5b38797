"""Canonicalisers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.canonicaliser import LARGEST_FORM, Canonicaliser, Identity
from verifier_ladder.errors import ConfigError


class Lower(Canonicaliser):
    """Lower case."""

    kind, name, version = "word", "lower", "1"


@given(st.text() | st.binary())
def test_the_identity_changes_nothing(content: str | bytes) -> None:
    assert Identity("text").canonicalise(content) is content


@pytest.mark.parametrize("change", [{"name": "upper"}, {"version": "2"}])
def test_name_and_version_affect_the_digest(change: dict[str, str]) -> None:
    assert Lower().digest != type("Other", (Lower,), change)().digest


def test_settings_affect_the_digest() -> None:
    assert Lower().digest != Lower(locale="tr").digest


@pytest.mark.parametrize("missing", ["kind", "name", "version"])
def test_what_canonical_forms_are_filed_under_must_be_given(missing: str) -> None:
    """Two canonicalisers without a name would take each other's forms."""
    with pytest.raises(ConfigError, match="needs a kind, a name and a version"):
        type("Other", (Lower,), {missing: ""})()


def test_a_class_without_a_method_says_so() -> None:
    with pytest.raises(TypeError, match="no canonicalise method"):
        Lower().canonicalise("A")


class Odd(Canonicaliser):
    """Gives what is no canonical form, unless all is well."""

    kind, name, version = "text", "odd", "1"

    def canonicalise(self, content: str | bytes) -> Any:
        odd = {"none": None, "number": 3, "list": ["a"], "long": "a" * (LARGEST_FORM + 1)}
        return odd.get(str(content), content)


class InlineOdd(Odd):
    """The same, in the caller's process."""

    inline = True


@vl.verifier(name="content-o", kind="text", version="1", isolation="inline")
def judge(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.mark.parametrize("by", [Odd, InlineOdd])
def test_what_is_no_canonical_form_costs_nobody_else_a_reward(by: type[Odd]) -> None:
    ladder = vl.Ladder("odd", [judge], canonicaliser=by())
    with vl.Campaign.open("odd", ladder=ladder, workers=1) as campaign:
        fine, *odd = campaign.score(["fine", "none", "number", "list", "long"])

    assert fine.value == 4.0
    types = ["NoneType", "int", "list of length 1", f"str of length {LARGEST_FORM + 1}"]
    for reward, of in zip(odd, types, strict=True):
        assert f"canonicaliser odd returned a {of}; return text or bytes" in reward.reason
