"""The ledger's contract: what every store of verdicts promises.

Three stores keep it: SQLite and PostgreSQL, by one body of SQL through SQLAlchemy, and a twin in
memory for tests and for throw-away scoring. `verifier_ladder.testing.LedgerTestCase` holds a
store to every sentence below.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Literal, Self

from verifier_ladder.arguments import checked, is_checked
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger.accountbook import AccountBook
from verifier_ladder.ledger.baton import Baton
from verifier_ladder.ledger.counting import StepCount, VerdictCount
from verifier_ladder.ledger.ratebook import RateBook
from verifier_ladder.ledger.records import (
    Alias,
    Block,
    CampaignRow,
    Charged,
    CheckRow,
    Entry,
    Extent,
    Request,
    SampleReward,
    Sealing,
)
from verifier_ladder.ledger.replies import Replies
from verifier_ladder.ledger.workqueue import WorkQueue
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

_BY_THE_BATCH = frozenset({"aliases", "verdicts", "append", "clock", "newest", "sequence"})
"""Methods that every call of `score` waits for: they take what the library has made itself."""
_PATIENCE = 60.0
"""Seconds to wait for those who write to the ledger just now."""
_LOOK = 0.02


class Ledger(WorkQueue, RateBook, AccountBook, Replies):
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

    def __init_subclass__(cls, **options: Any) -> None:
        """Have each method of a store check its arguments, by their annotations."""
        super().__init_subclass__(**options)
        # `dir` and `getattr_static` find the same, and take 20 ms of every process.
        owners = reversed(cls.__mro__)
        found = {name: value for owner in owners for name, value in vars(owner).items()}
        for name, method in found.items():
            if name.startswith("_") or name in _BY_THE_BATCH or not isfunction(method):
                continue
            if not is_checked(method):
                setattr(cls, name, checked()(method))

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
        changed: Sequence[Request] = (),
        charges: Mapping[Charged, tuple[Cost, int]] | None = None,
        kept: Cost | None = None,
        unwanted: Sequence[bytes] = (),
        sealing: Sealing | None = None,
        as_of: int | None = None,
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
            changed: Requests that go on with another state.
            charges: Spend that needed no reservation (the fast tier's), by whom it was paid to:
                the cost and the number of checks; added to the accounts of the block's campaign
                and to the spend of the run of its samples.
            kept: What is kept back from now on, as by `keep`; None to leave it.
            unwanted: Checks to cancel, as `cancel` does, once `answered` is removed.
            sealing: When it must be recorded, by the ledger's clock; any time if left out.
            as_of: The newest entry that those who supersede have seen: a verdict that came later
                is superseded by nothing of it. Whatever stands is superseded if left out.

        Returns:
            The entry's id; ids grow.

        Raises:
            LateError: If it is too late for its `sealing`; nothing is written then.
            OvertakenError: If it would supersede a verdict that came after `as_of`; nothing is
                written then.
        """

    @abstractmethod
    def entries(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        kind: str | None = None,
        campaign: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """Entries with an id above `after`, in order, up to the id `until` or the newest."""

    @abstractmethod
    def last(self, *, kind: str, campaign: str) -> Entry | None:
        """The newest entry of a kind in a campaign; None if there is none."""

    def entry(self, number: int) -> Entry | None:
        """The entry with this id; None if there is none."""
        found = next(iter(self.entries(after=number - 1, limit=1)), None)
        return found if found is not None and found.id == number else None

    def read(self, entry: Entry) -> Block:
        """The records of an entry.

        Raises:
            LedgerError: If no program of this version, or of an earlier one, can have written it.
        """
        from verifier_ladder.ledger.encoding import decode

        try:
            return decode(entry.body)
        except LedgerError as error:
            raise LedgerError(
                f"entry {entry.id}: {error}; `vladder ledger verify` names all such entries"
            ) from error

    @abstractmethod
    def artifact(self, digest: str) -> bytes | None:
        """The bytes of an artifact; None if they are not here, or are not what they were.

        Args:
            digest: SHA-256, as hexadecimal digits, as `Artifact.digest` has it.
        """

    @abstractmethod
    def erase_artifacts(self, digests: Sequence[str]) -> int:
        """Erase the bytes of artifacts, for good; entries, digests and proofs stay as they are.

        Returns:
            How many were there.
        """

    @abstractmethod
    def newest(self) -> int:
        """Id of the newest entry, 0 in an empty ledger: a cursor for `entries(after=…)`."""

    def await_earlier(self, entry: int) -> None:
        """Wait until no entry can come any more before one: on PostgreSQL others may be at work.

        Raises:
            LedgerError: If they are for a minute; the entry stands.
        """
        ends = time.monotonic() + _PATIENCE
        while self.newest() < entry:
            if time.monotonic() > ends:
                raise LedgerError(
                    f"others have been writing to the ledger for {_PATIENCE:g} s, so it can't be "
                    f"told yet what came before entry {entry}, which stands"
                )
            time.sleep(_LOOK)

    @abstractmethod
    def latest(self, after: int = 0) -> tuple[int, float]:
        """A cursor as `newest` gives it, and the latest time of the entries behind another one.

        Args:
            after: The cursor; only entries with a larger id are looked at.

        Returns:
            The time is 0 if there is none. It is also that of entries which the new cursor does
            not pass yet, for others with smaller ids are still being written.
        """

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
        self,
        campaign: str,
        run: str,
        step: int,
        *,
        after: int = 0,
        positions: Collection[int] | None = None,
    ) -> Iterator[Entry]:
        """Entries that hold samples of a step and are written by now, in order.

        Args:
            campaign: The campaign.
            run: The run.
            step: The step.
            after: Those with a larger id. Who reads on after the last one stops at `newest`:
                before that none will come.
            positions: Those that hold one of these samples; all if left out.
        """

    # -- campaigns and runs ----------------------------------------------------------------------

    @abstractmethod
    def open_campaign(self, name: str, ladder: Mapping[str, Any], digest: bytes) -> CampaignRow:
        """Find a campaign by name, or record a new one, with an entry of kind `campaign`.

        A changed ladder is the caller's to judge.
        """

    @abstractmethod
    def campaigns(self, name: str | None = None) -> list[CampaignRow]:
        """All campaigns, oldest first, or only the one of this name."""

    @abstractmethod
    def add_run(self, campaign: str, run: Mapping[str, Any]) -> None:
        """Record a run of a campaign; the same run again changes nothing."""

    @abstractmethod
    def runs(self, campaign: str) -> list[Mapping[str, Any]]:
        """The runs of a campaign, oldest first."""

    @abstractmethod
    def note_verifier(self, name: str, version: str, source_digest: str) -> str | None:
        """Remember the source of a verifier's version; return an earlier, different digest."""

    # -- life ------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, campaign: str | None = None) -> dict[str, Any]:
        """Totals for summaries.

        Returns:
            `newest` (id of the newest entry), `entries`, `candidates`, `samples`, and `verdicts`:
            by `"name version"` of the verifier, how many current ones have each outcome.
        """

    @abstractmethod
    def extent(self, campaign: str) -> Extent:
        """How many entries a campaign has, and which is its newest."""

    @abstractmethod
    def verdict_counts(self, campaign: str) -> list[VerdictCount]:
        """How the checks of a campaign ended, by tier, verifier, version, outcome and boundary.

        It is counted as entries are written, so that nothing has to be read for it; `verify`
        counts anew.
        """

    @abstractmethod
    def step_counts(
        self, campaign: str, *, whole_runs: bool = False, since: int = 0
    ) -> list[StepCount]:
        """The samples of a campaign and what they earn, counted as entries are written.

        Args:
            campaign: The campaign.
            whole_runs: Whether to tell of each run as a whole, by name; else of each step that
                is counted, in order. Steps that were drawn stand in the whole alone.
            since: The first step that is wanted.
        """

    @checked(size=0)
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
            ConfigError: If an argument is not what it should be, or pyarrow is not installed.
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
    def is_outdated(self) -> bool:
        """Whether it must be opened anew to see what others have written since.

        So it is with some that were opened to be read only, and with no other.
        """
        return False

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

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
