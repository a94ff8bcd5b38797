"""The ledger's contract: what every store of verdicts promises.

Three stores keep it: SQLite and PostgreSQL, by one body of SQL through SQLAlchemy, and a twin in
memory for tests and for throw-away scoring. `verifier_ladder.testing.LedgerTestCase` holds a
store to every sentence below.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.baton import Baton
from verifier_ladder.ledger.records import (
    Account,
    Alias,
    Answer,
    Block,
    CampaignRow,
    Charged,
    CheckRow,
    CheckState,
    Claim,
    Completion,
    Entry,
    Request,
    SampleReward,
    Spend,
    Vitals,
)
from verifier_ladder.ledger.replies import Replies
from verifier_ladder.resource import Resource
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa


class Ledger(Replies):
    """Append-only record and cache of everything, with the work queue and accounts beside it.

    **History.** Entries are only ever appended. A correction is a later entry. An entry's bytes
    are hashed as stored and never rewritten.

    **Transactions.** Every method below is one transaction: it happens wholly or not at all,
    and is durable when it returns.

    **Threads and processes.** One object may be used from many threads. Several processes may
    open one SQLite file on one machine.

    **Time.** Methods that depend on the clock take `now`, in seconds since 1970.

    **Errors.** `LedgerError` says what failed and what to do; nothing is half-written.
    """

    url: str
    """Where it lies, in the form that opens it again."""
    is_shared = False
    """Whether other machines may write to it too, of which this one hears nothing."""

    # -- cache -----------------------------------------------------------------------------------

    @abstractmethod
    def aliases(self, canonicaliser: bytes, raw_keys: Sequence[bytes]) -> dict[bytes, Alias]:
        """What is known of these raw keys under this canonicaliser; one query for all.

        The identity has no aliases: its content keys follow from the text.
        """

    @abstractmethod
    def verdicts(self, check_keys: Sequence[bytes]) -> dict[bytes, Verdict]:
        """The current verdict of each check that has one; one query for all.

        Verdicts come back equal to what was written. Failures (`Verdict.is_answer` false) are
        never returned: an outage is not an answer.
        """

    # -- entries ---------------------------------------------------------------------------------

    @abstractmethod
    def append(
        self,
        block: Block,
        *,
        enqueue: Sequence[tuple[CheckRow, Sequence[Request]]] = (),
        answered: Sequence[Request] = (),
        charges: Mapping[Charged, tuple[Cost, int]] | None = None,
        unwanted: Sequence[bytes] = (),
    ) -> int:
        """Write one block with its index rows; in the same transaction change the queue.

        Args:
            block: The records. Verdicts whose check key already has a current verdict keep
                the old one in the index, unless the block's kind is `review` or `import`,
                which supersede. Failures are recorded in the body and not indexed.
            enqueue: Checks to ask for, each with the samples that wait for it. A check that is
                already queued is joined: its priority rises to the larger one. A cancelled,
                dead or expired check is queued again, paid by who asks now. For a check that is
                done, or that has a current verdict, only the requests are added: it is done.
            answered: Requests that this block answers; they are removed.
            charges: Spend that needed no reservation (the fast tier's), by whom it was paid to:
                the cost and the number of checks; added to the accounts of the block's campaign
                and to the spend of the run of its samples.
            unwanted: Checks to cancel, as `cancel` does, once `answered` is removed.

        Returns:
            The entry's id; ids grow.
        """

    @abstractmethod
    def entries(
        self,
        *,
        after: int = 0,
        kind: str | None = None,
        campaign: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """Entries with an id above `after`, in order."""

    def entry(self, number: int) -> Entry | None:
        """The entry with this id; None if there is none."""
        found = next(iter(self.entries(after=number - 1, limit=1)), None)
        return found if found is not None and found.id == number else None

    def read(self, entry: Entry) -> Block:
        """The records of an entry."""
        from verifier_ladder.ledger.encoding import decode

        return decode(entry.body)

    @abstractmethod
    def newest(self) -> int:
        """Id of the newest entry, 0 in an empty ledger: a cursor for `entries(after=…)`."""

    @abstractmethod
    def mentions(self, content_key: bytes) -> list[int]:
        """Ids of the entries in which a candidate appears, in order."""

    @abstractmethod
    def find_contents(self, prefix: str, limit: int = 20) -> list[tuple[bytes, str, str | bytes]]:
        """Candidates whose hexadecimal content key starts so: key, kind, canonical form."""

    # -- samples ---------------------------------------------------------------------------------

    @abstractmethod
    def next_step(self, campaign: str, run: str) -> int:
        """One more than the largest step recorded for the run; 0 for a new run.

        A step of which a reply was begun counts, too.
        """

    @abstractmethod
    def count_samples(self, campaign: str) -> int:
        """How many samples were scored."""

    @abstractmethod
    def recorded(
        self, campaign: str, run: str, step: int, *, within: tuple[int, int] | None = None
    ) -> dict[int, SampleReward]:
        """The latest reward of every sample of a step, by position; {} for a new step.

        Args:
            campaign: The campaign.
            run: The run.
            step: The step.
            within: First and last position that matter; others may be left out.
        """

    @abstractmethod
    def step_entries(
        self, campaign: str, run: str, step: int, *, after: int = 0
    ) -> Iterator[Entry]:
        """Entries that hold samples of a step, with an id above `after`, in order."""

    # -- campaigns and runs ----------------------------------------------------------------------

    @abstractmethod
    def open_campaign(self, name: str, ladder: Mapping[str, Any], digest: bytes) -> CampaignRow:
        """Find a campaign by name, or record a new one, with an entry of kind `campaign`.

        A changed ladder is the caller's to judge.
        """

    @abstractmethod
    def campaigns(self) -> list[CampaignRow]:
        """All campaigns, oldest first."""

    @abstractmethod
    def add_run(self, campaign: str, run: Mapping[str, Any]) -> None:
        """Record a run of a campaign; the same run again changes nothing."""

    @abstractmethod
    def runs(self, campaign: str) -> list[Mapping[str, Any]]:
        """The runs of a campaign, oldest first."""

    @abstractmethod
    def note_verifier(self, name: str, version: str, source_digest: str) -> str | None:
        """Remember the source of a verifier's version; return an earlier, different digest."""

    # -- work queue ------------------------------------------------------------------------------

    @abstractmethod
    def claim(
        self,
        *,
        verifier: tuple[str, str] | None = None,
        tiers: Sequence[int] | None = None,
        campaigns: Sequence[str] | None = None,
        owner: str,
        lease: float,
        limit: int,
        now: float,
        reserve: Callable[[CheckRow], Cost] = attrgetter("reserve"),
    ) -> list[Claim]:
        """Lease up to `limit` queued checks of ONE verifier for `lease` seconds.

        Takes what a learner waits for first, then those with the highest priority, and of them
        only what the accounts of the paying campaign can reserve, in every resource and in its
        total, all or nothing. If they can't, or the campaign has paused the tier, the first other
        campaign whose samples wait for the check and whose accounts can takes over as payer. What
        nobody can pay stays queued with the note "budget" and does not block cheaper checks
        behind it. Each claim counts an attempt and raises the fence. What is reserved is what
        was expected when the check was asked for, unless `reserve` says otherwise.
        """

    @abstractmethod
    def heartbeat(self, claims: Sequence[Claim], *, lease: float, now: float) -> list[Claim]:
        """Extend leases; the result holds only the claims that are still ours."""

    @abstractmethod
    def extend(self, claim: Claim, seconds: float) -> bool:
        """Reserve more cpu time for a claimed check; False if its budget does not allow it."""

    @abstractmethod
    def complete(self, completions: Sequence[Completion], *, now: float) -> list[Completion]:
        """Finish claimed checks: state done, verdict recorded, reservation settled.

        Only those whose fence still matches are finished and returned; for the others the
        result is discarded, and what the attempt cost was charged when its lease was taken away.
        The verdict's `cost` is what is settled. If nothing was measured, it is the time since
        the claim, and of the other resources what was reserved. Never more than was reserved.

        Raises:
            LedgerError: If a verdict is a failure: those go to `fail`.
        """

    @abstractmethod
    def fail(
        self, completions: Sequence[Completion], *, retry_at: float | None, now: float
    ) -> list[Completion]:
        """End claimed checks without an answer: queued again at `retry_at`, or dead if None.

        The verdict (an abstention with `failed_at`) is recorded in an entry and not cached.
        """

    @abstractmethod
    def release(self, claims: Sequence[Claim], *, now: float) -> None:
        """Give claims back untouched: queued again, reservation freed, attempt not counted."""

    @abstractmethod
    def end_known(self, claims: Sequence[Claim], *, now: float) -> dict[bytes, Verdict]:
        """End claims on checks that were answered elsewhere since they were asked for.

        They are done; what they have reserved is freed, and nothing is charged.

        Returns:
            The current verdicts of those that have one, by check.
        """

    @abstractmethod
    def wait(self, claims: Sequence[Claim], *, deadline: float | None, now: float) -> list[Claim]:
        """Turn claims into open world cases; returns those that were still ours."""

    def answer(
        self, check_key: bytes, verdict: Verdict, *, source: str, event: str, now: float
    ) -> bool:
        """Take one result of the world, as `answers` does; whether it was taken."""
        (is_taken,) = self.answers([Answer(check_key, verdict, source, event)], now=now)
        return is_taken

    @abstractmethod
    def answers(self, told: Sequence[Answer], *, now: float) -> list[bool]:
        """Take the world's results for waiting, expired or even done checks: all or none.

        A worker that is on such a check loses its lease. A result after done supersedes: the
        newer verdict becomes current, the older stays in history. Each is an entry of its own.

        Returns:
            Whether each was taken: a second delivery of the same (source, event) changes nothing.

        Raises:
            LedgerError: If one of the checks was never asked for; nothing is written.
        """

    @abstractmethod
    def reap(self, *, now: float) -> int:
        """Queue checks whose lease ran out, expire those past their deadline; count both.

        A lost attempt is charged as failed for the time until its lease ended, never more than
        was reserved. The check waits longer after each loss, and after the fifth it is dead.
        """

    @abstractmethod
    def hasten(self, *, lease: float, now: float) -> int:
        """Bring forward what a clock that was ahead has put off; count the checks.

        A check that waits for its next attempt longer than any does is tried now, and a lease
        that would last longer ends after `lease` seconds, unless it is renewed.
        """

    @abstractmethod
    def cancel(self, check_keys: Sequence[bytes], *, now: float, at_work: bool = False) -> int:
        """Cancel queued or waiting checks that nobody requests; count them.

        A queued check that only others than its payer request is handed over to the first of
        these, who pays from now on.

        Args:
            check_keys: Which checks.
            now: Seconds since 1970.
            at_work: Whether checks at work are cancelled too: they lose their lease, and what
                was begun is charged as failed for its time so far.
        """

    @abstractmethod
    def revive(self, check_keys: Sequence[bytes], *, now: float) -> int:
        """Queue dead, cancelled or expired checks again, with a fresh count of attempts."""

    @abstractmethod
    def checks(
        self,
        *,
        states: Sequence[CheckState] | None = None,
        campaign: str | None = None,
        verifier: str | None = None,
        tiers: Sequence[int] | None = None,
        keys: Sequence[bytes] | None = None,
        limit: int | None = None,
    ) -> list[CheckRow]:
        """Checks of the work queue, highest priority first; those that fit all that is given.

        Args:
            states: Where they stand.
            campaign: A campaign that asked for them, whoever pays.
            verifier: Their verifier's name, in any version.
            tiers: Their tiers.
            keys: Their check keys.
            limit: The most to give.

        Example:
            >>> from verifier_ladder.ledger import open_ledger
            >>> from verifier_ladder.ledger.records import CheckState
            >>> with open_ledger(None) as ledger:
            ...     ledger.checks(states=[CheckState.DEAD], verifier="xtb-hydration")
            []
        """

    @abstractmethod
    def requests(
        self,
        *,
        campaign: str | None = None,
        check_keys: Sequence[bytes] | None = None,
        final: bool | None = None,
        limit: int | None = None,
    ) -> list[Request]:
        """Samples that wait; with `final=True` only those whose check has ended."""

    @abstractmethod
    def counts(self, campaign: str) -> dict[int, dict[CheckState, int]]:
        """How many checks stand where, per tier, among those this campaign asked for."""

    @abstractmethod
    def parked(self, campaign: str) -> dict[int, int]:
        """How many of its queued checks wait for their budget, per tier that has such."""

    @abstractmethod
    def queued(self, *, now: float) -> dict[tuple[str, str], int]:
        """How many checks wait for a worker, by the verifier's name and version.

        Those that are held, due later or parked on a budget don't; those of a paused tier do.
        """

    @abstractmethod
    def vitals(self, *, now: float) -> Vitals:
        """What waits for a worker and for how long, what is dead, what is not signed for.

        Those that are held, due later or parked on a budget don't wait for a worker.
        """

    # -- accounts --------------------------------------------------------------------------------

    @abstractmethod
    def set_caps(self, campaign: str, caps: Mapping[tuple[int, Resource], float | None]) -> None:
        """Set caps, in units of the resource; None lifts one. Spend is kept.

        Args:
            campaign: Who pays.
            caps: By tier, or `budget.TOTAL` for all tiers together, and resource.
        """

    @abstractmethod
    def accounts(self, campaign: str) -> list[Account]:
        """The accounts that have a cap or have spent, in the order of tier and resource.

        settled + failed + reserved ≤ cap. What all tiers spent together is an account only if
        that has a cap.
        """

    @abstractmethod
    def spend(self, campaign: str | None = None) -> list[Spend]:
        """What was spent, by the run that asked first, by verifier and by resource.

        For every campaign, tier and resource the sums are those of its account. What was spent
        before a ledger knew who asked stands under an empty run and verifier.

        Args:
            campaign: Who pays; None for all campaigns.
        """

    @abstractmethod
    def pause(self, campaign: str, tier: int) -> None:
        """Have `claim` pass over the campaign's checks of a tier, unless others pay for them.

        Checks that run go on, and cases stay open. Pausing twice changes nothing.
        """

    @abstractmethod
    def resume(self, campaign: str, tier: int) -> None:
        """Have a paused tier's checks claimed again."""

    @abstractmethod
    def paused(self, campaign: str) -> set[int]:
        """The tiers that are paused."""

    # -- life ------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, campaign: str | None = None) -> dict[str, Any]:
        """Totals for summaries.

        Returns:
            `newest` (id of the newest entry), `entries`, `candidates`, `samples`, and `verdicts`:
            by `"name version"` of the verifier, how many current ones have each outcome.
        """

    def frame(
        self,
        *,
        campaign: str | None = None,
        record: Literal["verdict", "reward"] | None = None,
        verifier: str | None = None,
        size: int | None = None,
    ) -> pa.Table:
        """Verdicts and rewards as an Arrow table; its `to_pandas()` is a data frame.

        The columns are those of `vladder ledger export`; what a row does not have is null. Rows
        are in the order of the ledger: a correction comes later than what it corrects.

        Args:
            campaign: Only this campaign's.
            record: Only verdicts, or only rewards.
            verifier: Only the verdicts of this verifier.
            size: Only what the first so many entries of the signed log hold.

        Raises:
            ConfigError: If pyarrow is not installed.
        """
        from verifier_ladder.ledger.frames import frame

        return frame(self, campaign=campaign, record=record, verifier=verifier, size=size)

    def sequence(self) -> int:
        """Give the next entries their place in the signed log; count them.

        Cheap when nothing waits. Whoever writes to a ledger on disk has this done in the
        background; two that do it at once do no harm. A ledger in memory has no log.
        """
        return 0

    def checkpoint(self, size: int | None = None) -> str | None:
        """The newest signed checkpoint, or that of an exact size; None if there is none.

        It is a signed note of about 200 bytes: the log's name, its size, the hash over all its
        entries. Keep copies elsewhere: whoever has the key could otherwise sign another history.
        """
        del size
        return None

    @property
    def is_sealed(self) -> bool:
        """Whether the log holds only salted hashes of what candidates hold and verifiers say."""
        return False

    def seal(self) -> None:
        """Have later entries sealed: the signed log then gives nothing of their contents away.

        It holds for everybody who has the ledger open, within a second, and for good. Earlier
        entries stay as they are. This ledger is read as before; proofs and exports show sealed
        values only where they are asked to.

        Raises:
            ConfigError: If it lies in memory, and so has no log.
        """
        raise ConfigError("a ledger in memory is not signed, so there is nothing to seal")

    def clock(self) -> float:
        """Seconds since 1970, by the clock that all who share this ledger go by.

        It is what `now` is to be: leases that several machines hold are measured by one clock,
        PostgreSQL's own. Elsewhere it is this machine's.
        """
        return time.time()

    def baton(self, campaign: str) -> Baton:
        """Take the right to decide for a campaign, until the baton is closed or the process ends.

        At most one process has it, among all that can open this ledger. Files and memory leave
        that to the lock of their home, and refuse nobody here.

        Raises:
            ConfigError: If another process has it; the message names it.
        """
        del campaign
        return Baton()

    def conductor(self, campaign: str) -> str | None:
        """Who has a campaign's baton, in words; None if nobody, or if it is this ledger's home."""
        del campaign
        return None

    def reopened(self) -> Ledger:
        """Open the same ledger once more; the other one may be closed independently."""
        from verifier_ladder.ledger.opening import open_ledger

        return open_ledger(self.url)

    def subscribe(self, call: Callable[[], None]) -> None:
        """Call back after every commit of this process; for waiting without polling.

        Where other machines may write too, also within a moment of an entry of theirs, in a
        thread of its own; then now and then once more than needed.
        """
        self._listeners = (*getattr(self, "_listeners", ()), call)

    def _tell(self) -> None:
        for call in getattr(self, "_listeners", ()):
            call()

    @abstractmethod
    def close(self) -> None:
        """Release files and connections; closing twice is allowed."""

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
