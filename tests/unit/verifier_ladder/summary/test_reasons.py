"""Reasons counted by what was said."""

from verifier_ladder.summary.reasons import (
    EXAMPLE_LENGTH,
    MOST_EXAMPLES,
    MOST_REASONS,
    OTHER,
    Reasons,
    pattern,
)


def test_what_is_quoted_does_not_make_another_reason() -> None:
    assert pattern("can't read 'C1CC' here") == pattern("can't read 'O=O' here")


def test_an_apostrophe_is_no_quote() -> None:
    assert pattern("can't read what isn't there") == "can't read what isn't there"


def test_a_missing_reason_says_so() -> None:
    assert pattern("") == "no reason given"


def test_unique_reasons_do_not_fill_the_memory() -> None:
    reasons = Reasons()
    for number in range(2 * MOST_REASONS):
        reasons.add("gate", 0, f"reason {number}", "C")

    listed = reasons.reasons({})

    assert len(listed) == MOST_REASONS + 1
    assert (listed[0].text, listed[0].count) == (OTHER, MOST_REASONS)


def test_examples_are_few_short_and_distinct() -> None:
    reasons = Reasons()
    for text in ("", "A" * 5000, "B", "B", "C"):
        reasons.add("gate", 0, "no", text)

    (reason,) = reasons.reasons({})

    assert reason.count == 5
    assert len(reason.examples) == MOST_EXAMPLES
    assert max(map(len, reason.examples)) == EXAMPLE_LENGTH
    assert reason.examples[-1] == ""


def test_an_example_known_by_its_key_is_looked_up() -> None:
    reasons = Reasons()
    reasons.add("xtb", 1, "no", b"key")

    assert reasons.keys() == [b"key"]
    assert reasons.reasons({b"key": "CCO"})[0].examples == ("CCO",)
