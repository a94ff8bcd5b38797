"""What a verifier hides of a task, wherever its verdict has words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.hidden import MASK, Hidden, without_hidden
from verifier_ladder.verdict import TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)


def made(**attributes: Any) -> Verifier:
    return FunctionVerifier(
        lambda _: 1.0, name="exam", version="1", task_fields=["answer", "tests"], **attributes
    )


@pytest.mark.parametrize(
    ("value", "text", "told"),
    [
        ("Paris", "it is PARIS, not Rome", f"it is {MASK}, not Rome"),
        ("a  b\nc d", "say A b c\td now", f"say {MASK} now"),
        (42, "expected 42", f"expected {MASK}"),
        (42, "expected 42.0, not 42.5 or 142", f"expected {MASK}, not 42.5 or 142"),
        (42.0, "expected 42", f"expected {MASK}"),
        (1e6, "expected 1e+06 or 1000000", f"expected {MASK} or {MASK}"),
        ("B", "B is right, Bob", f"{MASK} is right, Bob"),
        ([3, 4], "3 of 4 passed", "3 of 4 passed"),
        ([3, 14], "give [3, 14]", f"give {MASK}"),
        ({"x": "lighthouse"}, "lighthouses", f"{MASK}s"),
        ("one long first line\nanother long line", "at: another long line", f"at: {MASK}"),
        ('say "hi"\nnow', r"got 'say \"hi\"\nnow'", f"got '{MASK}'"),
        ("hidden", f"the hidden {MASK}", f"the {MASK} {MASK}"),
        (True, "True", "True"),
        (None, "None", "None"),
        ("", "nothing", "nothing"),
        ("straße", "die STRASSE dort", MASK),
    ],
)  # fmt: skip
def test_a_value_is_masked_as_it_may_be_written(value: Any, text: str, told: str) -> None:
    assert told == Hidden([value]).masked(text)


@given(value=JSON, before=st.text(), after=st.text())
def test_no_text_of_four_characters_is_left(value: Any, before: str, after: str) -> None:
    def leaves(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part]
        inner = part.values() if isinstance(part, dict) else part
        return [t for p in inner for t in leaves(p)] if isinstance(part, (dict, list)) else []

    hidden = Hidden([value])
    for leaf in leaves(value):
        told = hidden.masked(f"{before} {leaf} {after}").replace(MASK, "\n\n")
        folded = " ".join(leaf.casefold().split())
        assert len(folded) < 4 or folded not in " ".join(told.casefold().split())


@given(value=JSON, text=st.text())
def test_what_was_masked_stays_as_it_is(value: Any, text: str) -> None:
    hidden = Hidden([value])
    told = hidden.masked(f"{text} {value}")

    assert told == hidden.masked(told)


def test_too_much_to_look_for_hides_all_words() -> None:
    deep: Any = "lighthouse"
    for _ in range(5000):
        deep = [deep]

    assert MASK == Hidden(["x" * 5_000_000]).masked("anything")
    assert MASK == Hidden([deep]).masked("anything")
    assert "" == Hidden(["x" * 5_000_000]).masked("")


def test_all_words_of_a_verdict_are_masked_and_no_number() -> None:
    said = Verdict.reject(
        "not lighthouse", score=1.0, feedback="lighthouse!", evidence={"e": ["lighthouse", 2.0]},
        turns=(TurnVerdict(3, 0.5, "a lighthouse"),), scores={"lighthouse": 1.0, "style": 0.0},
    )  # fmt: skip
    candidate = Candidate("text", "x", {"answer": "lighthouse", "tests": 1.0})

    told = without_hidden(made(hidden="answer"), candidate, said)

    assert f"not {MASK}" == told.reason
    assert f"{MASK}!" == told.feedback
    assert {"e": [MASK, 2.0]} == told.evidence
    assert (TurnVerdict(3, 0.5, f"a {MASK}"),) == told.turns
    assert {"hidden_1": 1.0, "style": 0.0} == told.scores
    assert told == without_hidden(made(hidden="answer"), candidate, told)
    assert said is without_hidden(made(), candidate, said)


def test_hiding_changes_the_check_key_and_needs_a_field_that_is_read() -> None:
    assert made().digest != made(hidden=["answer"]).digest
    assert made(hidden=["tests", "answer"]).digest == made(hidden=["answer", "tests"]).digest
    with pytest.raises(ConfigError, match="hides solution, which it does not read"):
        made(hidden=["solution"])
