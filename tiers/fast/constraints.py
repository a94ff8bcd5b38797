"""The verifier `instruction-constraints`: whether an output keeps the rules that it was given."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.constraintrules import Output, Rule, unicode_regex
from verifier_ladder.tiers.fast.extraction import answers
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_LONGEST = 200_000


class _Task(BaseModel):
    constraints: Annotated[list[Rule], Field(min_length=1, max_length=100)]


class InstructionConstraints(SingleVerifier):
    """Accepts an output that keeps every rule of the task's `constraints`.

    Its score is the share of rules that are kept; its named scores say 1 or 0 for each, and
    feedback says for each that is broken what to do, without the task's own words.

    **The task** holds `constraints`: a list of objects with `rule`, one of the names of `Rule`,
    and its parameters.

    **Limits.** Words are what space or punctuation parts, so that Chinese, Japanese and Thai can't
    be counted by words. A sentence ends where a mark is followed by space and a capital; `Dr. Who`
    ends one. A language is told from letters and words, and short texts are told badly.

    Example:
        >>> task = {"constraints": [{"rule": "words", "most": 3}, {"rule": "lower-case"}]}
        >>> said = ["all is well", "All is well here"]
        >>> [v.score for v in InstructionConstraints().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        [1.0, 0.0]
    """

    name = "instruction-constraints"
    version = "1"
    tier = Tier.FAST
    kind = "text"
    domain = "instruction following"
    capabilities = ("reasoning",)
    cost = Cost(seconds=2e-4)
    timeout = 30.0
    task_fields = ("constraints",)
    control = Candidate("text", "fine", task={"constraints": [{"rule": "words", "most": 3}]})

    def __init__(self) -> None:
        """Take no settings."""
        super().__init__()
        self.tools = versions("regex", "py3langid")

    def setup(self) -> None:
        """Load the library."""
        unicode_regex()

    def examine(self, candidate: Candidate) -> Verdict:
        """Try every rule."""
        unicode_regex()
        rules = read_task(_Task, candidate.task).constraints
        how = "Write an answer that keeps every rule."
        output = Output(answers(candidate.content, ["whole"], how, longest=_LONGEST)[0])
        kept = [rule.holds(output) for rule in rules]
        scores = _scores([rule.rule for rule in rules], kept)
        share = sum(kept) / len(kept)
        if all(kept):
            return Verdict.accept(share, scores=scores)
        broken = [rule for rule, is_kept in zip(rules, kept, strict=True) if not is_kept]
        told = dict.fromkeys(rule.advice for rule in broken)
        return Verdict.reject(
            f"{len(broken)} of {len(rules)} rules are broken: "
            + ", ".join(dict.fromkeys(rule.rule for rule in broken)),
            score=share, feedback=" ".join(told), scores=scores,
        )  # fmt: skip


def _scores(names: list[str], kept: list[bool]) -> dict[str, float]:
    """A score for each rule; the second of a name is called `name-2`."""
    made: dict[str, float] = {}
    seen: dict[str, int] = {}
    for name, is_kept in zip(names, kept, strict=True):
        seen[name] = seen.get(name, 0) + 1
        made[name if seen[name] == 1 else f"{name}-{seen[name]}"] = float(is_kept)
    return made
