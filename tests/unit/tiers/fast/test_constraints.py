"""Rules that an output was given."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.constraintrules import Rule, Text
from verifier_ladder.tiers.fast.constraints import InstructionConstraints
from verifier_ladder.verdict import Outcome, Verdict


def kept_naively(text: str, rule: Mapping[str, Any]) -> bool:
    """The commonest shortcut of each rule that has one; others are taken for kept."""
    low, least, most = text.lower(), rule.get("least") or 0, rule.get("most") or 10**9
    counts = {
        "words": len(text.split()), "characters": len(text), "lines": text.count("\n") + 1,
        "sentences": len(re.findall(r"[.!?]", text)), "paragraphs": text.count("\n\n") + 1,
        "keyword-frequency": low.count(rule.get("word", "")),
        "letter-frequency": low.count(rule.get("letter", "")),
        "bullets": len(re.findall(r"^[-*] ", text, re.MULTILINE)),
    }  # fmt: skip
    if rule["rule"] in counts:
        return bool(least <= counts[rule["rule"]] <= most)
    if rule["rule"] in {"keywords", "forbidden-words"}:
        found = [word in low for word in rule["words"]]
        return all(found) if rule["rule"] == "keywords" else not any(found)
    return True


class TestInstructionConstraints(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "counted by split and find": Twin(
            lambda text, task: all(kept_naively(text, rule) for rule in task["constraints"])
        ),
        "anything that is long": Twin(lambda text, _: len(text) > 20),
        "one rule is enough": Twin(
            lambda text, task: any(kept_naively(text, rule) for rule in task["constraints"])
        ),
    }
    mutated = (
        "verifier_ladder.tiers.fast.constraintrules", "verifier_ladder.tiers.fast.constraints",
    )  # fmt: skip

    @pytest.fixture
    def verifier(self) -> InstructionConstraints:
        return InstructionConstraints()


def judge(text: str, *rules: dict[str, Any]) -> Verdict:
    task = {"constraints": list(rules)}
    return InstructionConstraints().judge([Candidate("text", text, task=task)])[0]


def names() -> list[str]:
    kinds = get_args(get_args(Rule)[0])
    return [kind.model_fields["rule"].annotation.__args__[0] for kind in kinds]


def test_there_are_twenty_five_rules_or_more_and_the_key_tries_each_both_ways() -> None:
    tried: dict[str, set[Outcome]] = {}
    for case in AnswerKey.named("instruction-constraints").cases:
        for rule in (case.task or {}).get("constraints", []):
            if isinstance(rule, dict) and len((case.task or {})["constraints"]) == 1:
                tried.setdefault(rule["rule"], set()).add(case.outcome)

    assert len(names()) >= 25
    assert {} == {n: tried.get(n) for n in names() if {"accept", "reject"} - tried.get(n, set())}


def test_each_rule_has_a_score_of_its_own_and_its_advice() -> None:
    rules = ({"rule": "words", "most": 2}, {"rule": "words", "least": 1}, {"rule": "lower-case"})

    verdict = judge("three Words here", *rules)

    assert {"words": 0.0, "words-2": 1.0, "lower-case": 0.0} == verdict.scores
    assert verdict.score == pytest.approx(1 / 3)
    assert verdict.reason == "2 of 3 rules are broken: words, lower-case"
    assert "small letters" in verdict.feedback


def test_feedback_tells_no_value_of_the_task() -> None:
    verdict = judge(
        "no", {"rule": "keywords", "words": ["xylophone"]},
        {"rule": "one-of", "options": ["zebra"]}, {"rule": "ends-with", "phrase": "quagga"},
    )  # fmt: skip

    told = f"{verdict.reason} {verdict.feedback} {verdict.evidence}"
    assert not any(word in told for word in ("xylophone", "zebra", "quagga"))


@given(st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=30))
def test_words_that_were_put_in_are_counted(words: list[str]) -> None:
    count = len(words)
    text = "  ".join(words)

    assert Outcome.ACCEPT is judge(text, {"rule": "words", "least": count, "most": count}).outcome
    assert Outcome.REJECT is judge(text, {"rule": "words", "most": count - 1}).outcome


@given(st.text(max_size=80))
def test_what_cannot_be_seen_changes_no_count(text: str) -> None:
    hidden = "\u200b".join(["", *text, ""])

    for one, other in zip(*(
        (t.plain, t.words, t.sentences, t.lines, t.paragraphs)
        for t in (Text(text.replace("\u200d", "")), Text(hidden.replace("\u200d", "")))
    ), strict=True):  # fmt: skip
        assert len(one) == len(other)
