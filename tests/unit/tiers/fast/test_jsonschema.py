"""JSON that a schema describes."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.jsonschema import JsonSchema, parse
from verifier_ladder.verdict import Outcome, Verdict

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)


def is_valid(text: str, task: Mapping[str, Any]) -> bool:
    return jsonschema_rs.is_valid(task["schema"], json.loads(text))


def outermost(text: str, task: Mapping[str, Any]) -> bool:
    found = re.search(r"\{.*\}|\[.*\]|[\d.]+|\".*\"|\w+", text, re.DOTALL)
    return found is not None and is_valid(found[0], task)


class TestJsonSchema(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the library, plainly called": Twin(is_valid),
        "whatever looks like JSON": Twin(outermost),
        "any JSON": Twin(lambda text, _: json.loads(text) is not ...),
    }
    mutated = ("verifier_ladder.tiers.fast.jsonschema",)
    mutants: Mapping[str, Any] = {"count": 100}  # All of them.

    @pytest.fixture
    def verifier(self) -> JsonSchema:
        return JsonSchema()


def judge(text: str | bytes, schema: Any, **settings: Any) -> Verdict:
    return JsonSchema(**settings).judge([Candidate("text", text, task={"schema": schema})])[0]


def test_feedback_names_place_and_rule_but_no_value_of_the_schema() -> None:
    schema = {"properties": {"a": {"enum": ["mercury"]}, "b": {"maximum": 41}}}

    verdict = judge('{"a": "venus", "b": 42}', schema)

    assert "/a is none of the allowed values; /b is too large" in verdict.feedback
    assert "mercury" not in verdict.feedback + verdict.reason
    assert "41" not in verdict.feedback + verdict.reason


def test_a_format_is_a_remark_where_formats_are_not_checked() -> None:
    schema = {"format": "date"}

    assert Outcome.REJECT is judge('"soon"', schema).outcome
    assert Outcome.ACCEPT is judge('"soon"', schema, formats=False).outcome


def test_depth_is_bounded_as_set() -> None:
    deep = "[" * 5 + "]" * 5

    assert Outcome.ACCEPT is judge(deep, {}, max_depth=5).outcome
    assert "deeper than 4" in judge(deep, {}, max_depth=4).reason
    assert Outcome.ACCEPT is judge('["[[[[[[[[["]', {}, max_depth=1).outcome


def test_only_the_marks_that_are_set_are_read() -> None:
    text = "```json\n[]\n```"

    assert Outcome.ACCEPT is judge(text, {}, find=["block"]).outcome
    assert Outcome.REJECT is judge(text, {}, find=["whole"]).outcome


def test_a_task_at_fault_is_an_abstention_that_is_kept() -> None:
    verdict = judge("1", {"type": "integr"})

    assert (Outcome.ABSTAIN, None) == (verdict.outcome, verdict.failed_at)
    assert "cause" not in verdict.evidence  # Nobody's candidate is compared with another.


def test_a_schema_as_text_keeps_its_large_numbers_and_names() -> None:
    schema = '{"properties": {"größe": {"const": 100000000000000000000000000001}}}'

    assert Outcome.ACCEPT is judge('{"größe": 100000000000000000000000000001}', schema).outcome
    assert Outcome.REJECT is judge('{"größe": 100000000000000000000000000000}', schema).outcome


@pytest.mark.parametrize(
    "settings", [{"find": []}, {"find": "block"}, {"find": ["page"]}, {"max_depth": 0},
                 {"max_depth": 501}, {"max_characters": 0}],
)  # fmt: skip
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        JsonSchema(**settings)


@given(VALUES)
def test_whatever_is_written_as_json_is_read_again(value: Any) -> None:
    assert value == parse(json.dumps(value), 64)


@given(st.text(alphabet='[]{}",:0123456789.eE+-truefalsnN\\u \n', max_size=60))
def test_what_is_read_is_json_for_others_too(text: str) -> None:
    try:
        value = parse(text, 64)
    except CandidateError:
        return
    assert value == json.loads(text, parse_float=Decimal)
