"""Canonicalisers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.canonicaliser import Canonicaliser, Identity
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
