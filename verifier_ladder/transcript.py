"""Transcripts: what a learner saw and wrote, kept so that its samples can be trained on later.

A reward needs only what verifiers read. Training on the samples later needs the prompt, the
completion as the learner wrote it, and the turns; adapters hand them over, and the ledger keeps
them in entries of their own, each prompt once per call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verifier_ladder.arguments import check_fields
from verifier_ladder.candidate import Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.records import Block
from verifier_ladder.media import described
from verifier_ladder.tags import Tags, capabilities_of

KIND = "transcript"
"""Kind of the entries that hold transcripts."""
_OF_GROUP = ("prompt", "task", "capability", "domain")
_OF_SAMPLE = ("completion", "token_ids", "logprobs")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the learner saw and wrote for one sample, or what is known of a whole group.

    Everything is optional; what is not known stays unknown.

    Example:
        >>> Transcript(group="prompt 1", prompt="2 + 2 =", domain="mathematics").is_of_sample
        False
    """

    step: int = -1
    """The sample's step; -1 where the learner tells none, then its position names it."""
    position: int = -1
    """The sample's position; -1 if only the group is described."""
    group: str = ""
    """The group that prompt, task and tags belong to."""
    prompt: Any = None
    """Text, or a list of chat messages."""
    task: str = ""
    """Names the task where its prompt does not: samples of one task never fall in two splits."""
    capability: str | Sequence[str] = ()
    """What the task asks for: planning, memory, tool use, reasoning, …; one or several."""
    domain: str = ""
    """Field of application, such as chemistry."""
    completion: Any = None
    """Text as the learner wrote it, or chat messages; None if it is the candidate's content."""
    turns: Sequence[Turn] = ()
    token_ids: Sequence[int] | None = None
    """The completion's tokens."""
    logprobs: Sequence[float] | None = None
    """Log-probability of each of these tokens under the policy that wrote them."""
    evaluation: bool = False
    """Whether it belongs to the run's evaluation; see `Sample.evaluation`."""

    def __post_init__(self) -> None:
        """Refuse log-probabilities that belong to no token.

        Raises:
            ConfigError: If there are more or fewer of them than tokens.
        """
        check_fields(self, step=-1, position=-1)
        if self.logprobs is not None and self.token_ids is not None:
            tokens, numbers = len(self.token_ids), len(self.logprobs)
            if tokens != numbers:
                raise ConfigError(
                    f"a transcript has {numbers} log-probabilities for {tokens} tokens; "
                    "give one for each token of the completion"
                )

    @property
    def is_of_sample(self) -> bool:
        """Whether it tells of a sample, and not only of its group."""
        return self.position >= 0

    @property
    def tags(self) -> Tags:
        """Capabilities and domain, in their usual spelling."""
        return Tags(capabilities_of(self.capability), self.domain)

    @property
    def without_words(self) -> Transcript:
        """What is left of it where nobody's words are kept: the tags of its task.

        Example:
            >>> Transcript(group="a", prompt="my secret", domain="chemistry").without_words.prompt
        """
        return Transcript(
            group=self.group, capability=self.capability, domain=self.domain,
            evaluation=self.evaluation,
        )  # fmt: skip


def transcript_block(campaign: str, run: str, transcripts: Iterable[Transcript]) -> Block:
    """Transcripts of one run as a block for the ledger; of images it holds a digest.

    Raises:
        ConfigError: If one holds something whose content can't be told.

    Example:
        >>> told = Transcript(step=0, position=2, group="a", prompt="2 + 2 =", completion="4")
        >>> transcript_block("c", "r", [told]).facts["samples"]
        [[0, 2, {'completion': '4', 'group': 'a'}]]
    """
    groups: dict[str, dict[str, Any]] = {}
    samples: list[list[Any]] = []
    for told in transcripts:
        known = {name: value for name in _OF_GROUP if (value := getattr(told, name))}
        if known:
            groups.setdefault(told.group, {}).update(described(known))
        if told.is_of_sample:
            samples.append([told.step, told.position, _sample(told)])
    return Block(KIND, campaign, facts={"run": run, "groups": groups, "samples": samples})


def _sample(told: Transcript) -> dict[str, Any]:
    made = {name: v for name in _OF_SAMPLE if (v := getattr(told, name)) is not None}
    if told.turns:
        made["turns"] = [_kept(turn) for turn in told.turns]
    return described({**made, "group": told.group} if told.group else made)  # type: ignore[no-any-return]


def _kept(turn: Turn) -> list[Any]:
    """A turn without its metadata, which is the program's own and may hold anything."""
    return replace(turn, metadata=None).as_json()


class Transcripts:
    """All transcripts of one run, found by group and by sample; a later one completes an earlier.

    Example:
        >>> found = Transcripts("r")
        >>> told = Transcript(group="a", prompt="2 + 2 =", capability="reasoning")
        >>> found.read(transcript_block("c", "r", [told]).facts)
        >>> found.prompt("a"), found.tags("a").capabilities
        ('2 + 2 =', ('reasoning',))
    """

    def __init__(self, run: str) -> None:
        """Begin with none."""
        self._run = run
        self._groups: dict[str, dict[str, Any]] = {}
        self._samples: dict[tuple[int, int], dict[str, Any]] = {}

    def read(self, facts: Mapping[str, Any]) -> None:
        """Take the facts of one entry; those of other runs are left out."""
        if facts.get("run") != self._run:
            return
        for group, known in facts["groups"].items():
            self._groups.setdefault(group, {}).update(known)
        for step, position, known in facts["samples"]:
            self._samples.setdefault((step, position), {}).update(known)

    def complete(self, prompts: Mapping[str, Any]) -> None:
        """Take prompts by group for those groups whose prompt was not kept."""
        for group, prompt in prompts.items():
            self._groups.setdefault(group, {}).setdefault("prompt", prompt)

    def prompt(self, group: str) -> Any:
        """The prompt of a group; None if it was not kept."""
        return self._groups.get(group, {}).get("prompt")

    def task(self, group: str) -> str:
        """The name of a group's task; "" if none was given."""
        return str(self._groups.get(group, {}).get("task", ""))

    def tags(self, group: str) -> Tags:
        """What a group's task is about."""
        known = self._groups.get(group, {})
        return Tags(capabilities_of(known.get("capability")), str(known.get("domain", "")))

    def sample(self, step: int, position: int) -> Mapping[str, Any]:
        """What is known of a sample: completion, turns, token_ids, logprobs; {} for nothing."""
        return self._samples.get((step, position)) or self._samples.get((-1, position), {})

    def turns(self, step: int, position: int) -> list[Turn]:
        """The turns of a sample; [] if they were not kept."""
        return list(map(Turn.from_json, self.sample(step, position).get("turns", ())))
