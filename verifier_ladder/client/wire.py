"""The wire: calls and answers of a reward server as JSON, the same for both clients."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, Unpack
from uuid import uuid4

import orjson

from verifier_ladder.arguments import check_values, checked_value
from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.case import Case
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.exchange import candidate_from, verdict_message
from verifier_ladder.measurement import Bound
from verifier_ladder.reward import Revision, Reward
from verifier_ladder.text import mended
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import NO_EVIDENCE, TurnVerdict, Verdict

T = TypeVar("T")
Given = Sample | Candidate | str | bytes
_TIERS: dict[str | None, Tier | None] = {None: None, **{tier.label: tier for tier in Tier}}
_parts = itemgetter(*Reward._fields[:8])
"""What every server tells; one of an earlier version tells no more."""
_JSON = {"Content-Type": "application/json"}
PAGE = 1000
"""Revisions that are asked for at once."""


class ScoreOptions(TypedDict, total=False):
    """What `score` takes beside the samples."""

    deadline: float | str | None
    """How long higher tiers are waited for; by default as the server says."""
    step: int | None
    """Training step; the server's next free one by default."""
    groups: Sequence[str] | None
    """Group of each element, if they are not samples."""
    prompts: Mapping[str, Any] | None
    """The prompt of each group, text or chat messages: kept for training on the samples later."""
    run: str | None
    """The run; the server's own by default. Name the step with it."""
    learner_version: str
    """Version of the policy that wrote them."""
    evaluation: bool
    """Whether they evaluate the policy and train nothing; see `Sample.evaluation`."""
    key: str | None
    """Idempotency key; a new one by default. The same call with the same key is scored once."""


class Call(NamedTuple):
    """One request, the same however often it is sent."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = {}


class Question(NamedTuple, Generic[T]):
    """A call, and how its answer is read."""

    call: Call
    read: Callable[[Any], T]
    patience: float = 0.0
    """Seconds that its answer may take beyond what any answer may."""


class Page(NamedTuple):
    """Some revisions."""

    revisions: list[Revision]
    cursor: int
    """Ask for what comes after this next."""
    more: bool
    """Whether there are more already."""


class Scored(NamedTuple):
    """What a call for rewards brought."""

    rewards: list[Reward]
    alarms: dict[str, float] | None
    """None from a server that does not say."""


def scoring(samples: Sequence[Given], **options: Unpack[ScoreOptions]) -> Question[Scored]:
    """Ask for the rewards of samples.

    Raises:
        ConfigError: If they belong to more than one run and step, or are not JSON.
    """
    if isinstance(samples, (str, bytes, Mapping, Candidate, Sample)):
        raise ConfigError(f"score takes a list of candidates, not one {type(samples).__name__}")
    checked_value("Client.score", "samples", samples, "Sequence[Given]")
    if not all(isinstance(given, (str, bytes, Candidate, Sample)) for given in samples):
        raise ConfigError("Client.score: samples: give texts, vl.Candidate(...) or vl.Sample(...)")
    check_values("Client.score", ScoreOptions.__annotations__, options)
    run, step = _place(samples, options.get("run"), options.get("step"))
    groups, deadline = options.get("groups"), options.get("deadline")
    patience = None if deadline is None else seconds(deadline)
    message: dict[str, Any] = {
        "samples": [given if isinstance(given, str) else _message(given) for given in samples],
        "run": run or "", "learner_version": options.get("learner_version", ""),
        "step": step, "groups": None if groups is None else list(groups),
        "deadline": patience,
    }  # fmt: skip
    if _evaluates(samples, said=options.get("evaluation", False)):
        message["evaluation"] = True
    if options.get("prompts"):
        message["prompts"] = options["prompts"]
    headers = {**_JSON, "Idempotency-Key": options.get("key") or uuid4().hex}
    call = Call("POST", "/v1/score", _encoded("a sample", message), headers)
    return Question(call, _scored, patience or 0.0)


def revising(after: int, *, evaluation: bool | None) -> Question[Page]:
    """Ask for a page of revisions."""
    path = f"/v1/rewards?after={after}&limit={PAGE}{_kind('&', evaluation=evaluation)}"
    return Question(Call("GET", path), _page)


def following(after: int, *, evaluation: bool | None) -> Call:
    """Ask for a stream of revisions."""
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    return Call("GET", f"/v1/rewards{_kind('?', evaluation=evaluation)}", headers=headers)


def _kind(mark: str, *, evaluation: bool | None) -> str:
    return "" if evaluation is None else f"{mark}evaluation={str(evaluation).lower()}"


def open_cases(limit: int) -> Question[list[Case]]:
    """Ask for open cases of the world."""
    return Question(Call("GET", f"/v1/cases?limit={limit}"), _cases)


def answering(
    case: Case | bytes | str,
    value: Verdict | Bound | float | bool | None,  # noqa: FBT001 - the answer itself
    *,
    source: str,
    event: str | None,
) -> Question[bool]:
    """Hand in the answer to a case.

    Raises:
        ConfigError: If the value is not a number, or is not JSON.
    """
    given = case.check_key if isinstance(case, Case) else case
    key = given if isinstance(given, str) else given.hex()
    # A call that is sent again, because its answer got lost, is the same delivery.
    message: dict[str, Any] = {"case": key, "source": source, "event": event or uuid4().hex}
    if isinstance(value, Verdict):
        message["verdict"] = verdict_message(value)
    elif isinstance(value, Bound):
        message["bound"] = str(value)
    else:
        message["value"] = checked_value("Client.answer", "value", value, "bool | float | None")
    call = Call("POST", "/v1/answers", _encoded("an answer", message), _JSON)
    return Question(call, _is_taken)


def _encoded(what: str, message: Any) -> bytes:
    try:
        try:
            return orjson.dumps(message)
        except TypeError:
            return orjson.dumps(mended(message))
    except TypeError as error:
        raise ConfigError(f"{what} can't be sent as JSON: {error}") from None


def _place(
    samples: Sequence[Given], run: str | None, step: int | None
) -> tuple[str | None, int | None]:
    """The one run and step of the samples."""
    if set(map(type, samples)) <= {str, bytes, Candidate}:  # The many, quickly.
        return run, step
    runs = {s.run for s in samples if isinstance(s, Sample) and s.run} | ({run} if run else set())
    steps = {s.step for s in samples if isinstance(s, Sample) and s.step >= 0}
    steps |= set() if step is None else {step}
    if len(runs) > 1 or len(steps) > 1:
        raise ConfigError("one call takes samples of one run and step; make a call for each")
    return next(iter(runs), None), next(iter(steps), None)


def _evaluates(samples: Sequence[Given], *, said: bool) -> bool:
    """Whether the samples of one call evaluate the policy."""
    found = {said or (isinstance(given, Sample) and given.evaluation) for given in samples}
    if len(found) > 1:
        raise ConfigError(
            "one call takes samples of training or of an evaluation; make a call for each"
        )
    return next(iter(found), said)


def _message(given: Sample | Candidate | bytes) -> dict[str, Any]:
    if isinstance(given, bytes):
        return _content(given)
    if isinstance(given, Candidate):
        return _candidate(given)
    message = _candidate(given.candidate)
    if given.position >= 0:
        message["position"] = given.position
    return {
        **message, "group": given.group, "group_size": given.group_size,
        "learner_version": given.learner_version, "weight": given.weight,
    }  # fmt: skip


def _candidate(candidate: Candidate) -> dict[str, Any]:
    message = _content(candidate.content)
    if candidate.task is not None:
        message["task"] = dict(candidate.task)
    if candidate.turns:
        message["turns"] = [turn.as_message() for turn in candidate.turns]
    return message


def _content(content: str | bytes) -> dict[str, Any]:
    if isinstance(content, str):
        return {"content": content}
    return {"content": b64encode(content).decode("ascii"), "encoding": "base64"}


def _scored(answer: Any) -> Scored:
    rewards = [reward_from(message) for message in answer["rewards"]]
    return Scored(rewards, answer.get("alarms"))


def _page(answer: Any) -> Page:
    return Page([revision_from(r) for r in answer["revisions"]], answer["cursor"], answer["more"])


def _cases(answer: Any) -> list[Case]:
    return [
        Case(
            bytes.fromhex(told["case"]), told["verifier"], candidate_from(told["candidate"]),
            told["question"], told["unit"], told["deadline"], told.get("settles_at"),
            told.get("sealed_by"),
        )
        for told in answer["cases"]
    ]  # fmt: skip


def _is_taken(answer: Any) -> bool:
    return bool(answer["taken"])


def reward_from(message: Mapping[str, Any]) -> Reward:
    """A reward as the server describes it."""
    value, uncertainty, tier, revision, components, reason, failed_at, pending = _parts(message)
    turns = tuple(TurnVerdict(**turn) for turn in message.get("turns", ()))
    return Reward(
        value, uncertainty, _TIERS[tier], revision, components, reason, failed_at, pending,
        message.get("feedback", ""), turns, message.get("scores", NO_EVIDENCE),
    )  # fmt: skip


def revision_from(message: Mapping[str, Any]) -> Revision:
    """A revision as the server describes it."""
    return Revision(**{**message, "reward": reward_from(message["reward"])})
