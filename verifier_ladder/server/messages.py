"""Messages: what the calls under `/v1` take and give, as they are described to clients."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from verifier_ladder.arguments import LARGEST
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Revision, Reward
from verifier_ladder.server.bodies import Items, Message
from verifier_ladder.server.limits import LONGEST_CONTENT, MOST_SAMPLES
from verifier_ladder.tier import Tier

_LABELS = [tier.label for tier in Tier]
_RUN = r"^[\w.\-:/+@ ]{0,200}$"
Content = Annotated[str, Field(max_length=LONGEST_CONTENT)]
Name = Annotated[str, Field(max_length=1000)]
Prompt = Content | Items[dict[str, JsonValue]]
Number = Annotated[int, Field(ge=0, le=LARGEST)]


def _seconds(given: Any) -> Any:
    """A time as text in seconds; what else was given is for others to judge.

    Raises:
        PydanticCustomError: If it is no amount of time.
    """
    try:
        return seconds(given) if isinstance(given, str) else given
    except ConfigError as error:
        raise PydanticCustomError("seconds", "{said}", {"said": str(error)}) from None


Seconds = Annotated[
    float, BeforeValidator(_seconds, json_schema_input_type=float | str), Field(ge=0, le=3600)
]


class ToolCallMessage(Message):
    """A tool that was called."""

    name: Name = Field(min_length=1)
    arguments: dict[str, JsonValue] | Content = Field(
        {}, description="By name; text where the model wrote what is no JSON object."
    )
    id: Name = ""


class TerminateMessage(Message):
    """The end that the model has declared."""

    terminate: Content = Field(description="What it gave as its answer, if anything.")


class TurnMessage(Message):
    """One action and the observation that followed."""

    action: Content | ToolCallMessage | TerminateMessage
    observation: Content = ""
    metadata: dict[str, JsonValue] | None = None
    thought: Content = ""
    reward: float | None = Field(None, description="What the environment gave.")
    terminated: bool = Field(default=False, description="Whether the environment ended here.")
    truncated: bool = Field(default=False, description="Whether a limit ended it here.")
    tokens: tuple[Number, Number] | None = Field(
        None, description="The action's first token in the completion, and the one after its last."
    )
    compressed: bool = Field(
        default=False, description="Whether the context was compressed before this turn."
    )
    failed: bool | None = Field(
        None, description="Whether the tool said that the call failed; null where nobody said."
    )
    parallel: bool = Field(
        default=False, description="Whether the model acted before it saw the last observation."
    )


class SampleMessage(Message):
    """One sample; text alone stands for one that has only content."""

    content: Content = Field(description="The candidate as the model wrote it.")
    encoding: Literal["text", "base64"] = Field(
        "text", description="base64 if the content stands for bytes."
    )
    task: dict[str, JsonValue] | None = Field(None, description="What it is checked against.")
    turns: Items[TurnMessage] = Field([], max_length=10_000)
    group: Name = Field("", description="Samples of one group answer the same prompt.")
    group_size: Number = Field(0, description="Samples of the whole group; 0 if all are here.")
    learner_version: Name = Field("", description="Version of the policy that wrote it.")
    weight: float = Field(1.0, ge=0, description="How strongly the learner reacts to its reward.")
    position: Number | None = Field(
        None, description="Place in the step; by default in this call."
    )


class ScoreRequest(Message):
    """Samples of one run and step."""

    samples: Items[Content | SampleMessage] = Field(max_length=MOST_SAMPLES)
    run: str = Field("", pattern=_RUN, description="The run; empty for the server's own.")
    step: Number | None = Field(
        None,
        description="Training step; the next free one by default. The same run, step and position "
        "again are answered from the ledger.",
    )
    groups: Items[Name] | None = Field(
        None, max_length=MOST_SAMPLES, description="The group of each sample that names none."
    )
    prompts: dict[Name, Prompt] = Field(
        {}, max_length=MOST_SAMPLES, description="The prompt of each group: text, or chat "
        "messages. They are kept for training on the samples later; no verifier reads them.",
    )  # fmt: skip
    learner_version: Name = Field("", description="For samples that name none.")
    evaluation: bool = Field(
        default=False,
        description="Whether they evaluate the policy and train nothing. They are filed under the "
        "run's evaluation, a run of its own, which the answer names.",
    )
    deadline: Seconds | None = Field(
        None,
        description="How long to wait for higher tiers: seconds, or text such as `30 s`; by "
        "default as the server says.",
    )


class TurnRewardMessage(Message):
    """What a verifier says of one turn."""

    turn: int = Field(description="Index of the turn in the sample, from 0.")
    score: float | None
    feedback: str
    span: tuple[int, int] | None = Field(
        None, description="Of a step of a text: its first character, and the one after its last."
    )


class RewardMessage(Message):
    """A reward; `value` is null where nothing is known: mask it, never read it as 0."""

    position: int
    value: float | None
    uncertainty: float | None
    tier: Literal["fast", "simulation", "high_fidelity", "world"] | None
    revision: int
    components: dict[str, float | None]
    reason: str
    failed_at: str | None
    pending: bool
    feedback: str = Field("", description="What the deciding verdict says to learn from.")
    turns: list[TurnRewardMessage] = Field([], description="What it says of each turn.")
    scores: dict[str, float] = Field({}, description="Its further numbers, by name.")


class ScoreResponse(Message):
    """Rewards in the order of the samples; their ids are run, step and position."""

    run: str
    step: int
    cursor: int = Field(description="Later revisions: `/v1/rewards?after=` this.")
    alarms: dict[str, float] = Field(
        description="Numbers for the learner's metrics, counted since the server began: "
        "`gaming_alarms`, how many times audits have found a verifier to be gamed, and "
        "`unanswered_alarms`, how many times too many samples ended without a reward."
    )
    rewards: list[RewardMessage]


class RevisionMessage(Message):
    """A reward that replaces an earlier one."""

    cursor: int
    run: str
    step: int
    position: int
    reward: RewardMessage
    previous: float | None
    group: str
    learner_version: str
    advantage: float | None
    advantage_change: float | None
    evaluation: bool = Field(description="Whether the sample evaluates the policy.")


class RevisionPage(Message):
    """Revisions, oldest first."""

    revisions: list[RevisionMessage]
    cursor: int = Field(description="Ask for what comes after this next.")
    more: bool = Field(
        description="Whether there may be more already; a page that holds none may say so too."
    )


def reward_json(reward: Reward, position: int) -> dict[str, Any]:
    """A reward as `RewardMessage` describes it.

    Example:
        >>> reward_json(Reward(0.5), 3)["value"]
        0.5
    """
    (
        value, uncertainty, tier, revision, components, reason, failed_at, pending, feedback,
        turns, scores,
    ) = reward  # fmt: skip
    return {
        "position": position, "value": value, "uncertainty": uncertainty,
        "tier": None if tier is None else _LABELS[tier], "revision": revision,
        "components": components, "reason": reason, "failed_at": failed_at, "pending": pending,
        "feedback": feedback, "turns": [turn.as_json() for turn in turns], "scores": scores,
    }  # fmt: skip


def revision_json(revision: Revision) -> dict[str, Any]:
    """A revision as `RevisionMessage` describes it."""
    reward = reward_json(revision.reward, revision.position)
    return {**revision._asdict(), "reward": reward}
