"""The verifier `reasoning-gym`: tasks of reasoning-gym, scored as the library scores them."""

from __future__ import annotations

import ast
import cmath
import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, JsonValue

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_HOW = "Write the answer alone, between <answer> and </answer>."
_LONGEST = 10_000
"""Characters of the longest answer."""
_LONGEST_CONFIG = 20_000
LEFT_OUT: Final[Mapping[str, str]] = {
    "codeio": "it runs programs that come with the library, outside of any sandbox",
    "coin_flip": "its scorer takes 0 for any chance",
    "game_of_life_halting": "its scorer takes any answer for yes, also the word False",
    "puzzle24": "its scorer takes any four numbers, whatever the puzzle's are",
}
"""Datasets that a task may name only if the host does, and why."""
_LITERALS = {"binary_matrix", "n_queens", "number_sorting", "spiral_matrix", "string_insertion"}
"""Datasets whose scorer runs an answer as Python, to read a list."""
_RUNS = {"eval", "exec", "compile", "__import__"}
_RUNS_OF_MODULES = {"parse_expr", "sympify", "system", "popen"}
"""What runs text, also where it says that it reads a formula."""
_REVIEWED = {"basic_arithmetic", "bitwise_arithmetic", "codeio", "propositional_logic"}
"""Datasets that run text of their own alone, or whose function only has such a name."""
_BETWEEN_NUMBERS = re.compile(r"[\s,;:=|\[\](){}\"'$]+")
_NAMES = {
    "sin", "cos", "tan", "sec", "csc", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "exp", "log", "ln", "sqrt", "pi", "Abs",
}  # fmt: skip
_NO_FORMULA = re.compile(
    r"[^0-9A-Za-z+\-*/().,\s]"  # No quotes, brackets, underscores, assignments.
    r"|[A-Za-z)]\s*\.|\.\s*[A-Za-z(]"  # No attributes.
    r"|\*\*[\s\w.(),+-]*\*\*|\*\*[\s(+-]*\d{3}"  # No towers, and no powers beyond 99.
    r"|\d{40}"
)
Seed = Annotated[int, Field(ge=0, lt=1 << 32, strict=True)]


class _Task(BaseModel):
    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    config: dict[str, JsonValue] = {}
    seed: Seed | None = None
    index: Annotated[int, Field(ge=0, strict=True)] | None = None
    question: str | None = None
    entry: dict[str, JsonValue] | None = None


class ReasoningGym(MarkedVerifier):
    """Scores an answer as reasoning-gym's `score_answer` does, and keeps its scorers in check.

    **The task** names the `dataset`, its `config` (fields that the settings allow), and a `seed`
    and `index`, of which the library makes the entry; with the setting `entries`, the `entry`
    itself will do. If it holds the `question` that was asked, the entry must ask the same: what
    the library makes of a seed changes with its releases.

    **Below `least` a score is a reject**: some scorers give .01 or .05 for any answer. With
    `least=1` partial credit is not paid.

    **A number must be finite.** One that is not (`nan`, `inf`, `1e999`), alone or among others,
    is a reject, unless the entry's own answer has it too: comparing with it fails in ways that
    scorers pay for.

    **No answer is run.** Scorers that would run it as Python get a reader of literals instead, and
    formulas may hold numbers, operators and functions alone. A dataset whose source runs text, and
    that nobody has looked at, is abstained from.

    **What a scorer raises** is held against the answer only if it takes the entry's own answer; a
    scorer that does not is abstained from, whatever the answer.

    Example:
        >>> ReasoningGym(datasets={"leg_counting": ["max_animals"]}).settings["least"]
        0.1
    """

    name = "reasoning-gym"
    version = "1"
    domain = "puzzles"
    cost = Cost(seconds=2e-3)
    timeout = 30.0
    memory = 1 << 30
    task_fields = tuple(_Task.model_fields)
    hidden = ("entry",)
    control = Candidate(
        "text", "0", task={"dataset": "leg_counting", "config": {}, "seed": 0, "index": 0}
    )

    @checked()
    def __init__(
        self,
        *,
        find: Sequence[str] = DOCUMENT,
        datasets: Mapping[str, Sequence[str]] | None = None,
        least: float = 0.1,
        entries: bool = False,
    ) -> None:
        """Set what tasks may name, and what counts.

        Args:
            find: Where the answer stands: marks of `verifier_ladder.tiers.fast.extraction`.
            datasets: The datasets that a task may name, each with the fields of its config that it
                may give; by default all but those `LEFT_OUT`, with the `size` alone.
            least: Scores below it are rejects.
            entries: Whether a task may hold its entry. Scorers trust an entry: some run it.

        Raises:
            ConfigError: If a bound, a mark or a dataset makes no sense.
        """
        if not 0 < least <= 1:
            raise ConfigError("least must be above 0 and at most 1")
        named = None if datasets is None else {name: [*each] for name, each in datasets.items()}
        if named is not None and not (named and all(named)):
            raise ConfigError("datasets must name at least one dataset, such as leg_counting")
        self._named, self._least, self._entries = named, least, entries
        super().__init__({"datasets": named, "least": least, "entries": entries}, find=find)
        self.tools = versions("reasoning-gym")

    def setup(self) -> None:
        """Load the library, which takes seconds."""
        _library()

    def examine(self, candidate: Candidate) -> Verdict:
        """Make the entry, find the answer, and have it scored."""
        given = {n: value for n, value in (candidate.task or {}).items() if value is not None}
        task = read_task(_Task, given)
        self._refuse_others(task)
        scored = _Scored.of(task)
        if not scored.takes_own_answer(self._least):
            raise TaskError(f"the scorer of {task.dataset} does not take the entry's own answer")
        found = answers(candidate.content, self._find, _HOW, longest=_LONGEST)
        answer = agreed((text.strip() for text in found), _HOW)
        _refuse_form(task.dataset, answer)
        _refuse_infinite(answer, scored.entry.get("answer"))
        try:
            score = scored.by_library(answer)
        except (MemoryError, ToolError):
            raise
        except Exception as error:  # noqa: BLE001 - it takes its own, so this one is at fault
            told = printable(f"{type(error).__name__}: {error}", 200)
            raise CandidateError(
                f"the scorer of {task.dataset} can't read the answer: {told}",
                feedback="Write the answer as the question asks for it.",
            ) from None
        evidence = {"dataset": task.dataset, "by the library": score}
        if score >= self._least:
            return Verdict.accept(score, evidence=evidence)
        return Verdict.reject(
            "the answer is not right", evidence=evidence,
            feedback="Work it out again, and write the answer as the question asks for it.",
        )  # fmt: skip

    def _refuse_others(self, task: _Task) -> None:
        """Refuse what the host has not named.

        Raises:
            TaskError: If the task names such a dataset or field, or its entry makes no sense.
        """
        name = printable(task.dataset, 100)
        if self._named is None and task.dataset in LEFT_OUT:
            raise TaskError(
                f"the task's dataset {name} must be named in `datasets`, a setting of the "
                f"verifier: {LEFT_OUT[task.dataset]}"
            )
        if self._named is not None and task.dataset not in self._named:
            raise TaskError(f"the task's dataset makes no sense: {name!r} is none of `datasets`")
        allowed = ["size"] if self._named is None else self._named[task.dataset]
        if others := sorted(set(task.config) - set(allowed)):
            told = printable(", ".join(others), 200)
            raise TaskError(
                f"the task's config makes no sense: {name} may not be given {told}, says "
                "`datasets`, a setting of the verifier"
            )
        if len(json.dumps(task.config)) > _LONGEST_CONFIG:
            raise TaskError(f"the task's config is longer than {_LONGEST_CONFIG:,} characters")
        if task.entry is not None and not self._entries:
            raise TaskError("the task's entry makes no sense: `entries` must be set to trust it")
        is_made = task.seed is not None and task.index is not None
        if (task.entry is None) is not is_made:
            raise TaskError("the task has no seed and index, or has an entry beside them")


# ---- The library


class _Scored:
    """An entry of a dataset, and what scores answers to it."""

    def __init__(self, dataset: Any, entry: Mapping[str, Any]) -> None:
        self._dataset, self.entry = dataset, entry
        self._own: float | None = None
        self._is_known = False

    @classmethod
    def of(cls, task: _Task) -> _Scored:
        """Make the entry of a task, or take the one that it holds.

        Raises:
            TaskError: If there is no such dataset, config or entry, or it asks something else.
            ToolError: If the library is missing.
        """
        config = json.dumps(task.config, sort_keys=True)
        if task.entry is not None:
            made = cls(_dataset(task.dataset, config, 0), task.entry)
        else:
            made = _made(task.dataset, config, task.seed or 0, task.index or 0)
        if task.question is not None and task.question != made.entry.get("question"):
            raise TaskError(
                "the task's question is not the one that the library makes of this seed: another "
                "release has made it, or another config"
            )
        return made

    def by_library(self, answer: str) -> float:
        """The library's score.

        Raises:
            ToolError: If it is no number from 0 to 1.
            Exception: Whatever the scorer raises.
        """
        # Some scorers change the entry that they are given.
        score = self._dataset.score_answer(answer, deepcopy(dict(self.entry)))
        try:
            number = float(score)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 <= number <= 1:
            raise ToolError(f"the library scored an answer as {score!r:.100}, not from 0 to 1")
        return number

    def takes_own_answer(self, least: float) -> bool:
        """Whether the scorer takes the answer that its dataset has made; so if it has none."""
        own = self.entry.get("answer")
        if not isinstance(own, str):
            return own is None
        if not self._is_known:
            try:
                self._own = self.by_library(own)
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 - it may raise anything
                self._own = None
            self._is_known = True
        return self._own is not None and self._own >= least


def _library() -> Any:
    try:
        import reasoning_gym
    except ImportError as error:
        raise ToolError(
            f"reasoning-gym can't be imported ({error}); pip install reasoning-gym"
        ) from error
    return reasoning_gym


@lru_cache(maxsize=64)
def _dataset(name: str, config: str, seed: int) -> Any:
    """Make a dataset once for all entries.

    Raises:
        TaskError: If there is none, it refuses its config, or it might run an answer.
    """
    library = _library()
    if name not in library.factory.DATASETS:
        raise TaskError(f"the task's dataset makes no sense: there is no {printable(name, 100)!r}")
    module = sys.modules[library.factory.DATASETS[name][0].__module__]
    if name in _LITERALS:
        module.eval = _literal  # type: ignore[attr-defined]  # Found before Python's own.
    elif name not in _REVIEWED and name not in _FORMS and _runs_text(module):
        raise TaskError(
            f"the task's dataset {name} makes no sense here: its source runs text, perhaps the "
            "answer, and nobody has looked at it"
        )
    try:
        return library.create_dataset(name, seed=seed, **json.loads(config))
    except Exception as error:  # It checks its config by whatever it raises.
        told = printable(f"{type(error).__name__}: {error}", 300)
        raise TaskError(f"the task's config makes no sense: {told}") from error


@lru_cache(maxsize=256)
def _made(name: str, config: str, seed: int, index: int) -> _Scored:
    dataset = _dataset(name, config, seed)
    if index >= len(dataset):
        raise TaskError(f"the task's index makes no sense: {name} has {len(dataset)} entries")
    try:
        return _Scored(dataset, dataset[index])
    except Exception as error:
        told = printable(f"{type(error).__name__}: {error}", 300)
        raise TaskError(f"{name} can't make entry {index} of seed {seed}: {told}") from error


def _runs_text(module: Any) -> bool:
    """Whether a module names anything that runs text."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return True
    nodes = [*ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    parts = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return bool(names & (_RUNS | _RUNS_OF_MODULES) or parts & _RUNS_OF_MODULES)


def _literal(text: Any) -> Any:
    """What stands in for `eval`: lists, numbers and texts, and nothing that runs."""
    return ast.literal_eval(text)


# ---- Answers that a scorer reads as formulas


def _refuse_form(dataset: str, answer: str) -> None:
    """Refuse an answer that its scorer would not only read.

    Raises:
        CandidateError: If it is one.
    """
    wanted = _FORMS.get(dataset)
    if wanted is not None and not wanted(answer):
        raise CandidateError(
            "the answer is no plain formula",
            feedback="Write one formula of numbers, names and operators, with small powers.",
        )


def _is_complex(answer: str) -> bool:
    """Whether an answer has a complex number's letters alone: its scorer joins what is apart."""
    return not re.search(r"[^\W\dije]", answer.lower())


def _is_arithmetic(answer: str) -> bool:
    return _is_formula(answer) and not re.search(r"[A-Za-z]|\*\s*\*|/\s*/", answer)


def _is_formula(answer: str) -> bool:
    """Whether an answer holds numbers, operators, variables and functions alone."""
    words = re.findall(r"[A-Za-z]+", answer)
    return not _NO_FORMULA.search(answer) and all(len(w) == 1 or w in _NAMES for w in words)


_FORMS: Mapping[str, Callable[[str], bool]] = {
    "complex_arithmetic": _is_complex, "countdown": _is_arithmetic, "puzzle24": _is_arithmetic,
    "simple_integration": _is_formula, "intermediate_integration": _is_formula,
    "polynomial_multiplication": _is_formula,
}  # fmt: skip


# ---- Numbers that are not finite


def _refuse_infinite(answer: str, own: Any) -> None:
    """Refuse an answer with a number that is not finite, unless the entry's own answer has it.

    Raises:
        CandidateError: If it has one.
    """
    if others := _infinite(answer) - _infinite(str(own)):
        raise CandidateError(
            f"the answer holds {printable(min(others), 50)}, which is no finite number",
            feedback="Write numbers that are finite.",
        )


def _infinite(text: str) -> set[str]:
    """The parts of a text that read as numbers, and are none that is finite."""
    text = text.lower()
    parts = {*_BETWEEN_NUMBERS.split(text), "".join(text.split())}
    # Digits alone are finite, also where a float has no room for them.
    return {part for part in parts if re.search("[a-z]", part) and not _is_finite(part)}


def _is_finite(part: str) -> bool:
    """Whether a text is no number, or one that is finite, however a scorer reads it."""
    reads: list[Callable[[str], bool]] = [
        lambda text: math.isfinite(float(text)), lambda text: Decimal(text).is_finite(),
        lambda text: cmath.isfinite(complex(text.replace("i", "j"))),
    ]  # fmt: skip
    for is_finite in reads:
        with suppress(ValueError, InvalidOperation):
            if not is_finite(part):
                return False
    return True
