"""What is written into the ledger: blocks of records, and what is read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import repeat
from math import inf, isfinite, isnan, nan
from time import time as host_clock
from typing import Any, NamedTuple

from verifier_ladder.budget import place_label
from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import NO_TASK
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.verdict import Verdict


class CandidateRow(NamedTuple):
    """A candidate seen for the first time by this ledger."""

    raw_key: bytes
    """Key of the bytes as given; empty where they are their own canonical form."""
    content_key: bytes
    kind: str
    content: str | bytes
    """The bytes as given."""
    canonical: str | bytes | None
    """The canonical form; None if it equals `content`, or if there is none."""
    canonicaliser: bytes
    """Digest of the canonicaliser."""
    verdict: Verdict | None = None
    """The canonicaliser's reject or abstention, if it has no canonical form."""


class Alias(NamedTuple):
    """What the ledger remembers of a raw key: its content, so nothing is canonicalised twice."""

    content_key: bytes
    canonical: str | bytes | None
    """The canonical form; None if it equals the content given, or if there is none."""
    verdict: Verdict | None
    """The reject, if there is no canonical form."""


class VerdictRow(NamedTuple):
    """One finished check."""

    check_key: bytes
    content_key: bytes
    verifier: str
    version: str
    tier: int
    verdict: Verdict
    attempt: int = 1


@dataclass(slots=True)
class SampleColumns:
    """The samples of one call, as columns of equal length; all belong to one run and step."""

    run: str
    step: int
    positions: Sequence[int]
    contents: Sequence[bytes]
    """Content key of each sample."""
    checks: Sequence[tuple[bytes, ...]]
    """Check keys whose verdicts its reward rests on."""
    groups: Sequence[str] | None = None
    group_sizes: Sequence[int] | None = None
    learner_versions: Sequence[str] | None = None
    weights: Sequence[float] | None = None
    tasks: Sequence[bytes] | None = None
    """Digest of each sample's task, where it has one."""
    turns: Sequence[bytes] | None = None
    """Digest of each sample's trajectory, where it has one."""


class DrawRow(NamedTuple):
    """What a decision says of the draw that sends its sample to the top tier."""

    propensity: float
    """Probability that the top tier is asked; NaN while the climb goes on below it."""
    number: float
    """The random number; NaN where chance had no part in it."""
    factor: float
    """Weight of the answer; NaN where nothing was drawn, or the draw has no part in the reward:
    while others of its checks are missing, once it was cancelled, and where what was due for
    certain ended without an answer."""

    @property
    def is_certain(self) -> bool:
        """Whether the answer was due for certain."""
        return isnan(self.number) and isfinite(self.factor)

    @property
    def is_hit(self) -> bool:
        """Whether the sample was drawn, by chance or for certain."""
        return self.number < self.propensity or self.is_certain


@dataclass(slots=True)
class DecisionColumns:
    """The decisions of one round, as columns; `sample` indexes the block's samples."""

    policy: str
    sample: Sequence[int]
    action: Sequence[int]
    tier: Sequence[int]
    """`Tier` value asked for, -1 for none."""
    reason: Sequence[int]
    reasons: Sequence[str]
    mean: Sequence[float]
    deviation: Sequence[float]
    propensity: Sequence[float]
    """Probability that the top tier is asked; NaN while the climb goes on below it."""
    draw: Sequence[float] | None
    benefit: Sequence[float]
    limit: Sequence[float] | None = None
    factor: Sequence[float] | None = None
    """Weight of the top tier's correction to the reward; NaN where nothing was drawn."""
    belief: int = -1
    """Version of the beliefs that were decided with; -1 if none were."""
    prices: Mapping[str, float] = field(default_factory=dict)
    """What one unit of each capped resource was worth, by account."""

    def draws(self) -> Iterator[DrawRow]:
        """What each row says of the draw for the top tier, most of them that there was none."""
        nothing = repeat(nan)
        return map(DrawRow, self.propensity, self.draw or nothing, self.factor or nothing)


KINDS = (
    "score", "check", "revision", "campaign", "run", "plan", "limits", "belief", "review",
    "import", "merge", "retry", "alarm", "alert", "transcript", "sealing", "source", "restore",
    "cancel", "cancelled", "shadow", "approval", "batch", "feed", "reading",
    "surrogate",
)  # fmt: skip
"""Kinds of entries; `docs/reference/tables.md` tells what each is."""
FEEDS = "feed/"
"""Campaign of entries that tell what feeds have told; no campaign can be called so."""


@dataclass(slots=True)
class Block:
    """All records of one call or one completion: one entry, written in one transaction."""

    kind: str
    """One of `KINDS`."""
    campaign: str
    candidates: Sequence[CandidateRow] = ()
    verdicts: Sequence[VerdictRow] = ()
    samples: SampleColumns | None = None
    decisions: Sequence[DecisionColumns] = ()
    rewards: Sequence[Reward] = ()
    """One per sample, in the order of `samples`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else belongs to this kind of entry, such as a ladder, a run or a note. JSON values."""


class LateError(LedgerError):
    """An entry was not written, for the time until which its samples are taken had passed."""


class OvertakenError(LedgerError):
    """An entry was not written, for one of its checks was told of since it was looked at."""


class Sealing(NamedTuple):
    """When an entry must be recorded, for its samples to be in time."""

    told: float
    """The latest time that the ledger has told of: the entry is never recorded earlier."""
    before: float
    """The time until which its samples are taken."""

    def time(self, clock: float) -> float:
        """When it is recorded.

        Args:
            clock: What the ledger's clock says inside the transaction.

        Raises:
            LateError: If that is too late, or this machine's clock says so: the ledger's may be
                one that is counted on, which stands still while a machine sleeps.

        Example:
            >>> sealing = Sealing(told=5.0, before=inf)
            >>> sealing.time(4.0), sealing.time(6.0)
            (5.0, 6.0)
        """
        found = max(self.told, clock)
        if (now := max(found, host_clock())) >= self.before:
            raise LateError(f"the time {self.before!r} has passed, and it is {now!r} by now")
        return found


class Entry(NamedTuple):
    """One entry as stored."""

    id: int
    kind: str
    campaign: str
    recorded_at: float
    """Seconds since 1970, by the ledger's clock."""
    body: bytes
    """The exact bytes; JSON."""
    leaf: bytes
    """SHA-256(0x00 ‖ body)."""


class Extent(NamedTuple):
    """How far a campaign has come."""

    entries: int = 0
    newest: int = 0
    """Id of its newest entry; 0 if there is none."""
    recorded_at: float = 0.0
    """When that was recorded, in seconds since 1970."""


class CheckState(IntEnum):
    """Where a check of the work queue stands."""

    QUEUED = 0
    """Waiting for a worker, or for its budget."""
    LEASED = 1
    """A worker holds it."""
    WAITING = 2
    """Open in the world: no lease, a deadline."""
    DONE = 3
    """Answered; terminal."""
    DEAD = 4
    """Failed too often; `vladder check retry` revives it."""
    CANCELLED = 5
    """Nobody wants it any more."""
    EXPIRED = 6
    """The world did not answer in time."""

    @property
    def label(self) -> str:
        """The state as spelled in tables and pages."""
        return self.name.lower()

    @property
    def is_final(self) -> bool:
        """Whether it will not change by itself."""
        return self >= CheckState.DONE


class Request(NamedTuple):
    """One sample that waits for a check, with what its climb needs to go on after a restart."""

    check_key: bytes
    campaign: str
    run: str
    step: int
    position: int
    content_key: bytes
    state: Mapping[str, Any]
    """JSON: group, group_size, learner_version, weight, task, reward value, revision."""


HELD = inf
"""`CheckRow.not_before` of a check that its policy compares with others before it is run."""


class CheckRow(NamedTuple):
    """One check of the work queue."""

    check_key: bytes
    content_key: bytes
    campaign: str
    """The campaign that pays: the first to ask, or another that asked and can pay when it can't.
    """
    verifier: str
    version: str
    tier: int
    state: CheckState
    priority: float
    """Larger goes first."""
    reserve: Cost
    """What to reserve when it is claimed; at its cpu-seconds it is killed or extended."""
    payload: Mapping[str, Any]
    """JSON: the candidate (kind, content, task, turns) as the verifier reads it."""
    not_before: float = 0.0
    """Seconds since 1970 before which it is not claimed; `HELD` until it is asked for again."""
    deadline: float | None = None
    """When a waiting check expires."""
    owner: str = ""
    lease_until: float = 0.0
    fence: int = 0
    """Counts the claims; a writer with an older number is refused."""
    attempt: int = 0
    note: str = ""
    """What went wrong last, or why it is parked."""
    run: str = ""
    """The run of the campaign that pays which asked first; "" if that is not known."""
    wanted_until: float = 0.0
    """Seconds since 1970 until which a learner waits for it: so long it goes before all others."""
    digest: bytes = b""
    """Digest of the verifier: its name, version, settings and tools. Only whoever holds that very
    verifier claims the check."""


class Claim(NamedTuple):
    """A leased check, with the number that proves the lease."""

    check: CheckRow
    fence: int


class Completion(NamedTuple):
    """The end of one claimed check."""

    claim: Claim
    verdict: Verdict
    content_key: bytes


class Answer(NamedTuple):
    """What the world says of one check."""

    check_key: bytes
    verdict: Verdict
    source: str
    """Who says so."""
    event: str
    """Id of the delivery among those of its source."""


class Account(NamedTuple):
    """The budget of one tier of a campaign, or of all together, in one resource."""

    tier: int
    """The tier, or `budget.TOTAL` for all tiers."""
    resource: Resource
    """What the amounts below are amounts of."""
    cap: float | None
    """None if unlimited."""
    settled: float
    """Spent on checks that answered."""
    reserved: float
    """Set aside for checks at work."""
    failed: float
    """Spent on attempts that gave no answer; counts towards the cap."""
    checks: int
    """How many checks were settled; of other resources than cpu time, those that used some."""
    kept: float = 0.0
    """Kept back for the fast tier, which reserves nothing; only of all tiers together."""

    @property
    def spent(self) -> float:
        """Spent on checks that answered and on attempts that did not."""
        return self.settled + self.failed

    def as_json(self) -> dict[str, Any]:
        """The account as JSON; tier and resource by label."""
        place = {"tier": place_label(self.tier), "resource": self.resource.label}
        return {**self._asdict(), **place}


class Charged(NamedTuple):
    """Whom checks were paid to: what spend is told apart by, beside who asked."""

    tier: int
    verifier: str = ""
    """"" if that is not known."""
    version: str = ""


class Spend(NamedTuple):
    """What a run has spent on a verifier's checks, in one resource."""

    campaign: str
    run: str
    """The first that asked; "" if that is not known, as for what was spent by an old version."""
    charged: Charged
    resource: Resource
    """What the amounts below are amounts of."""
    settled: float
    """Spent on checks that answered."""
    failed: float
    """Spent on attempts that gave no answer."""
    checks: int
    """How many checks were settled; of other resources than cpu time, those that used some."""


class Queued(NamedTuple):
    """Checks of one verifier, with the same settings and tools, that wait for a worker.

    Those that are expected to take some of a GPU are counted apart.
    """

    verifier: str
    version: str
    digest: bytes
    checks: int
    longest: float
    """Seconds since the first of them was asked for."""
    gpu: bool = False
    """Whether they are expected to take some of a GPU."""


class Waiting(NamedTuple):
    """Checks of one verifier that wait for a worker."""

    checks: int
    longest: float
    """Seconds since the first of them was asked for."""


@dataclass(slots=True)
class Vitals:
    """What tells whether a ledger is being served."""

    waiting: dict[tuple[str, str], Waiting]
    """By the verifier's name and version: checks that could go to work at this moment."""
    dead: dict[tuple[str, str], int]
    """By the verifier's name and version: checks that have failed too often."""
    unsigned: int
    """Entries that have no place in the signed log yet."""
    unsigned_for: float
    """Seconds since the first of them was written."""


class SampleReward(NamedTuple):
    """A recorded reward, found by sample id."""

    entry: int
    content_key: bytes
    reward: Reward
    task_key: bytes = NO_TASK
    """Digest of the sample's task."""
    turns_key: bytes = NO_TASK
    """Digest of the sample's trajectory."""


class CampaignRow(NamedTuple):
    """A campaign as the ledger knows it."""

    name: str
    ladder: Mapping[str, Any]
    ladder_digest: bytes
    created_at: float
