"""Examples: a run's samples that can be trained on, and why the others can't."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from verifier_ladder.datasets.selection import Selection
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.columns import GROUP_NAMES
from verifier_ladder.runs import RunRecord, SampleRecord
from verifier_ladder.runs.chat import is_chat
from verifier_ladder.runs.records import Said
from verifier_ladder.runs.tasks import task_of
from verifier_ladder.text import printable
from verifier_ladder.verdict import Outcome

Asked = tuple[str, str]
"""A task and what verifiers read beside its prompt."""


@dataclass(frozen=True, slots=True)
class Example:
    """One sample with all that a row of a training set may need."""

    sample: SampleRecord
    prompt: Any
    """Text, or chat messages."""
    completion: Any
    """Text, or chat messages."""
    worth: float
    """The best that is known of it, on the learner's scale."""
    task: str
    """Names its task: the same for all samples that answer one prompt."""
    verdicts: tuple[Said, ...]
    is_rejected: bool
    is_final: bool
    """Whether the ladder's highest tier has judged it."""

    @property
    def asked(self) -> Asked:
        """Its task, and what verifiers read beside the prompt, as far as its group tells."""
        from verifier_ladder.learners.messages import prompt_of

        return self.task, self.sample.group.removeprefix(prompt_of(self.sample.group))

    @property
    def spread(self) -> float:
        """One standard deviation of its worth.

        0 where the highest tier tells of none. Infinite where a lower tier's answer stands and
        nobody knows yet how far it errs: nothing is sure then.
        """
        known = self.sample.uncertainty
        return known if known is not None else 0.0 if self.is_final else inf

    @property
    def hint(self) -> str:
        """What verifiers told it to do better: their feedback, or else why they rejected it."""
        return "\n".join(dict.fromkeys(filter(None, map(_advice, self.verdicts))))

    def provenance(self, run: str) -> dict[str, Any]:
        """Where a row comes from, and how its reward stands."""
        sample = self.sample
        tier = None if sample.reward.tier is None else sample.reward.tier.label
        return {
            "reward": self.worth, "uncertainty": sample.uncertainty, "tier": tier,
            "source": {
                "run": run, "step": sample.step, "position": sample.position,
                "group": sample.group, "learner_version": sample.learner_version,
                "candidate": sample.content.hex(), "task": self.task,
            },
        }  # fmt: skip


def _advice(said: Said) -> str:
    verdict = said.verdict
    turns = [
        f"{'Step' if turn.span else 'Turn'} {turn.turn + 1}: {turn.feedback}"
        for turn in verdict.turns if turn.feedback
    ]  # fmt: skip
    reason = verdict.reason if verdict.outcome is Outcome.REJECT else ""
    return "\n".join([*filter(None, [verdict.feedback or ("" if turns else reason)]), *turns])


class Examples:
    """The examples of a run; a candidate that answered one task in one way counts once.

    Of several such samples the one that the highest tier has judged stands for all, for a late
    answer may have reached only one of them.
    """

    def __init__(
        self, record: RunRecord, selection: Selection, prompts: Mapping[str, Any],
        artifact: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:  # fmt: skip
        """Choose.

        Args:
            record: The run.
            selection: What is asked for.
            prompts: Prompts by group, for those that the ledger does not hold.
            artifact: Reads the bytes of a digest; None where they are not kept. None are read by
                default.

        Raises:
            ConfigError: If samples are to be left out by terms that none of the run comes under.
        """
        self.record, self.selection, self._artifact = record, selection, artifact
        self.left_out: Counter[str] = Counter()
        """How many samples are left out, by reason."""
        self.terms = sorted({term for sample in record.samples for term in self._terms(sample)})
        """Names of the terms that the run's verdicts come under."""
        self._refuse_unknown_terms()
        record.transcripts.complete(_of_groups(record, prompts))
        chosen: dict[tuple[Asked, bytes, str], Example] = {}
        for sample in record.samples:
            example = self._example(sample)
            if example is None:
                continue
            key = (example.asked, sample.content, self._path(sample))
            known = chosen.get(key)
            if known is not None:
                self.left_out["the same candidate again"] += 1
            if known is None or _standing(example) >= _standing(known):
                chosen[key] = example
        self._chosen = list(chosen.values())

    def __iter__(self) -> Iterator[Example]:
        """All examples, in the order in which their candidates first came."""
        return iter(self._chosen)

    def __len__(self) -> int:
        """Count them."""
        return len(self._chosen)

    def by_task(self) -> dict[Asked, list[Example]]:
        """The examples of each task; those of one prompt with other answers are apart."""
        found: dict[Asked, list[Example]] = {}
        for example in self._chosen:
            found.setdefault(example.asked, []).append(example)
        return found

    @property
    def pass_at(self) -> float | None:
        """The reward at which one passes; None if nobody said and nothing can be assumed."""
        given = self.selection.pass_at
        return self.record.usual_threshold() if given is None else given

    def file(self, example: Example, name: str) -> bytes | None:
        """An artifact of its verdicts, of several the highest tier's; None if none is kept."""
        for said in sorted(example.verdicts, key=lambda said: -said.tier):
            if name in said.verdict.artifacts:
                return self._artifact(said.verdict.files[name].digest)
        return None

    def _example(self, sample: SampleRecord) -> Example | None:
        why = self._why_not(sample)
        prompt = self.record.transcripts.prompt(sample.group)
        if not why and prompt is None:
            why = "its prompt is not known"
        completion = self._completion(sample)
        if not why and completion is None:
            why = "its content is no text"
        if why:
            self.left_out[why] += 1
            return None
        return Example(
            sample, prompt, completion, float(sample.worth or 0.0),
            task_of(self.record, sample), tuple(self.record.verdicts(sample)),
            sample.is_rejected, sample.reward.tier is self.record.top,
        )  # fmt: skip

    def _why_not(self, sample: SampleRecord) -> str:
        if sample.worth is None:
            failed = sample.reward.failed_at
            return f"unknown: failed at {failed}" if failed else "unknown: nobody has judged it"
        if sample.reward.failed_at is not None:
            return f"a tier failed at {sample.reward.failed_at}"
        if doubt := self.record.doubt(sample):
            return f"rests on {doubt}, which is being gamed"
        unwanted, terms = self.selection.without_terms, self._terms(sample)
        if under := next((term for term in unwanted if term in terms), ""):
            return f"under the terms {under}"
        wanted = self.selection.tier
        reached = sample.reward.tier
        if wanted is not None and (reached is None or reached < wanted):  # type: ignore[operator]
            return f"not judged by {wanted.label} yet"  # type: ignore[union-attr]
        return ""

    def _terms(self, sample: SampleRecord) -> set[str]:
        """Terms that its verdicts come under."""
        named = [each.verdict.evidence.get("terms") for each in self.record.verdicts(sample)]
        return {
            term for each in named
            for term in ([each] if isinstance(each, str) else each or ()) if isinstance(term, str)
        }  # fmt: skip

    def _refuse_unknown_terms(self) -> None:
        """A name that is spelt otherwise would leave out nothing, and say so nowhere.

        Raises:
            ConfigError: If the run's verdicts come under terms, and one of these is none of them.
        """
        strange = [term for term in self.selection.without_terms if term not in self.terms]
        if strange and self.terms:
            raise ConfigError(
                f"no verdict of run {self.record.name!r} comes under terms called "
                f"{printable(strange[0], 60)!r}; there are {printable(', '.join(self.terms))}. "
                "Name these with --without-terms (without_terms=), or leave that out"
            )

    def _path(self, sample: SampleRecord) -> str:
        """How the candidate came about: two trajectories may end in the same words."""
        kept = self.record.transcripts.sample(sample.step, sample.position)
        said = kept.get("completion")
        return str(kept.get("turns") or (said if is_chat(said) else ""))

    def _completion(self, sample: SampleRecord) -> Any:
        kept = self.record.transcripts.sample(sample.step, sample.position).get("completion")
        content = self.record.contents.get(sample.content) if kept is None else kept
        return None if isinstance(content, bytes) else content


def _of_groups(record: RunRecord, prompts: Mapping[str, Any]) -> dict[str, Any]:
    """The prompts of a run's groups, of which several may be of one prompt."""
    from verifier_ladder.learners.messages import prompt_of

    named = {sample.group: prompt_of(sample.group) for sample in record.samples}
    return {
        group: prompts.get(group, prompts.get(of_prompt))
        for group, of_prompt in named.items() if group in prompts or of_prompt in prompts
    }  # fmt: skip


def _standing(example: Example) -> tuple[int, int]:
    reward = example.sample.reward
    return (-1 if reward.tier is None else int(reward.tier), reward.revision)


def prompts_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Prompts by group, from the rows of a dataset.

    The group stands in a column such as `group` or `prompt_id`; else it is the group that adapters
    make of the prompt, or the prompt itself.

    Example:
        >>> prompts_of([{"group": "a", "prompt": "2 + 2 ="}])["a"]
        '2 + 2 ='
    """
    from verifier_ladder.learners.messages import group_of

    found: dict[str, Any] = {}
    for row in rows:
        prompt = row.get("prompt")
        if isinstance(prompt, str) and prompt[:1] == "[":
            prompt = _chat(prompt)
        if prompt is not None:
            named = [str(row[name]) for name in _GROUPS if isinstance(row.get(name), (str, int))]
            names = [*named[:1], group_of(prompt), *([prompt] if isinstance(prompt, str) else [])]
            found |= dict.fromkeys(names, prompt)
    return found


_GROUPS = [name for name in GROUP_NAMES if name != "prompt"]


def _chat(text: str) -> Any:
    """Chat messages that stand in a cell as JSON; the text itself if it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    is_chat = isinstance(found, list) and all(isinstance(m, dict) and "role" in m for m in found)
    return found if is_chat and found else text
