"""The verifier `json-schema`: JSON that a schema describes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, LONGEST, answers
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

HOW = "Write one JSON value, alone or in a fenced block."
_BACKTRACKS = 100_000
_SHOWN = 5
_NUMBER = 400
"""Characters of the longest number, and the largest exponent."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_OPENS, _CLOSES = "[{", "]}"


class JsonSchema(MarkedVerifier):
    """Accepts an output whose JSON is valid against the task's `schema`.

    **Strict.** NaN, infinity, names that occur twice, half characters and numbers beyond doubles
    are refused before the schema is asked; numbers are compared with all their digits. Patterns
    run in linear time where they can, else up to a number of steps; what is beyond is rejected.

    **The task** holds `schema`: an object or truth value, or JSON text, which may hold names that
    are not ASCII. Its `$schema` names the draft; 2020-12 without one. A schema that makes no
    sense, or refers to anything outside it, is the task's fault: the verifier abstains.

    Example:
        >>> task = {"schema": {"type": "object", "required": ["name"]}}
        >>> said = ['{"name": "Ada"}', '{"name": "Ada", "name": "Bob"}']
        >>> [v.outcome.value for v in JsonSchema().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "json-schema"
    version = "1"
    timeout = 20.0
    task_fields = ("schema",)
    control = Candidate("text", "{}", task={"schema": {"type": "object"}})

    @checked()
    def __init__(
        self,
        *,
        find: Sequence[str] = DOCUMENT,
        formats: bool = True,
        max_depth: int = 64,
        max_characters: int = LONGEST,
    ) -> None:
        """Set what is read.

        Args:
            find: Where the JSON stands: marks of `verifier_ladder.tiers.fast.extraction`.
            formats: Whether `format` is checked; without it, it is a remark.
            max_depth: How deep arrays and objects may nest, at most 500.
            max_characters: Characters of the longest output.

        Raises:
            ConfigError: If a bound or a mark makes no sense.
        """
        if not 1 <= max_depth <= 500 or max_characters < 1:  # noqa: PLR2004  # Parsers nest so far.
            raise ConfigError("max_depth must be 1 to 500, and max_characters at least 1")
        self._formats, self._depth, self._longest = formats, max_depth, max_characters
        own = {"formats": formats, "max_depth": max_depth, "max_characters": max_characters}
        super().__init__(own, find=find)
        self.tools = versions("jsonschema-rs")

    def setup(self) -> None:
        """Load the library."""
        _library()

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the schema, then the JSON, then compare them."""
        validator = compiled(_schema_text(candidate.task), formats=self._formats)
        found = answers(
            candidate.content, self._find, HOW, languages=("json",), longest=self._longest
        )
        if len(found) > 1:
            raise CandidateError(f"the output holds {len(found)} JSON values", feedback=HOW)
        value = parse(found[0], self._depth)
        if validator.is_valid(value):
            return Verdict.accept(1.0)
        told = breaches(validator, value)
        return Verdict.reject(
            f"the JSON breaks its schema: {told}", feedback=f"Mend this: {told}."
        )


def parse(text: str, max_depth: int) -> Any:
    """Read JSON, strictly.

    Args:
        text: The JSON, and nothing else.
        max_depth: How deep it may nest.

    Returns:
        Its value; fractions are decimals.

    Raises:
        CandidateError: If it is no JSON, holds a name twice, or is beyond bounds.
    """
    if _is_deeper(text, max_depth):
        raise CandidateError(
            f"the JSON nests deeper than {max_depth}", feedback=f"Nest at most {max_depth} deep."
        )
    try:
        orjson.loads(text)  # Its grammar is JSON's and no more; it forgets names and digits.
        return json.loads(text, object_pairs_hook=_object, parse_float=_fraction)
    except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
        why = printable(str(error), 200)
        raise CandidateError(f"the answer is no JSON: {why}", feedback=f"{HOW} {why}.") from None


def _is_deeper(text: str, most: int) -> bool:
    if sum(map(text.count, _OPENS)) <= most:
        return False
    depth = 0
    for sign in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        depth += 1 if sign in _OPENS else -1
        if depth > most:
            return True
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise CandidateError("a name occurs twice in an object", feedback="Write each name once.")
    return made


def _fraction(text: str) -> Decimal:
    exponent = text.lower().partition("e")[2]
    if len(text) > _NUMBER or (exponent and abs(int(exponent)) > _NUMBER):
        raise CandidateError("a number is beyond bounds", feedback="Write shorter numbers.")
    return Decimal(text)


# ---- The schema


def _schema_text(task: Mapping[str, Any] | None) -> str:
    """The schema as text, by which it is remembered.

    Raises:
        TaskError: If there is none, or it can't be JSON.
    """
    schema = (task or {}).get("schema")
    if schema is None:
        raise TaskError("the task has no schema")
    return schema_text(schema)


def schema_text(schema: Any) -> str:
    """A schema as text; one that is text already stays as it is.

    Raises:
        TaskError: If it can't be JSON.
    """
    try:
        return schema if isinstance(schema, str) else orjson.dumps(schema).decode()
    except TypeError as error:
        raise TaskError(f"the task's schema makes no sense: {error}") from None


@lru_cache(maxsize=512)
def compiled(schema: str, *, formats: bool = True) -> Any:
    """Compile a schema once for all candidates of its group.

    Args:
        schema: The schema as JSON text.
        formats: Whether `format` is checked.

    Raises:
        TaskError: If it makes no sense, or refers to something that is not in it.
    """
    library = _library()
    linear = library.RegexOptions()
    bounded = library.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
    told = ""
    for patterns in (linear, bounded):  # Look-around and back references need the second.
        try:
            return library.validator_for(
                json.loads(schema), validate_formats=formats, pattern_options=patterns,
                offline=True,
            )  # fmt: skip
        except (ValueError, RecursionError) as error:
            told = str(error).partition("\n")[0]
    raise TaskError(f"the task's schema makes no sense: {told}")


def _library() -> Any:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise ToolError(
            f"jsonschema-rs can't be imported ({error}); pip install '.[structured]' in a clone"
        ) from error
    return jsonschema_rs


# ---- What is wrong, without a value that the schema may hide


def breaches(validator: Any, value: Any) -> str:
    """What the first rules are that a value breaks, in words for a student model; "" for none."""
    return "; ".join(map(_told, islice(validator.iter_errors(value), _SHOWN)))


def _told(error: Any) -> str:
    place = "".join(f"/{part}" for part in error.instance_path) or "the value"
    keyword = error.kind.name
    words = _WORDS.get(keyword, f"breaks `{keyword}`")
    text = words if isinstance(words, str) else words(error.kind.value)
    return printable(f"{place} {text}", 200)


_WORDS: dict[str, str | Callable[[Any], str]] = {
    "type": lambda types: f"must be {' or '.join([types] if isinstance(types, str) else types)}",
    "required": lambda name: f"lacks {name!r}",
    "additionalProperties": lambda names: f"may not have {', '.join(map(repr, names))}",
    "unevaluatedProperties": lambda names: f"may not have {', '.join(map(repr, names))}",
    "const": "is not the value that is wanted", "enum": "is none of the allowed values",
    "minimum": "is too small", "exclusiveMinimum": "is too small",
    "maximum": "is too large", "exclusiveMaximum": "is too large",
    "minLength": "is too short", "maxLength": "is too long",
    "minItems": "has too few items", "maxItems": "has too many items",
    "minProperties": "has too few properties", "maxProperties": "has too many properties",
    "uniqueItems": "holds an item twice", "pattern": "does not match its pattern",
    "format": lambda name: f"is no {name}", "false schema": "may not be there",
}  # fmt: skip
