"""The ledger in an SQL database: an SQLite file, or PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.accounts import SqlAccounts, charge, keep
from verifier_ladder.ledger.artifacts import SqlArtifacts
from verifier_ladder.ledger.asking import add_requests, remove_requests, write_requests
from verifier_ladder.ledger.audit import SqlAudit
from verifier_ladder.ledger.cancelling import cancel_unwanted
from verifier_ladder.ledger.damage import contained
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.protocol import micros
from verifier_ladder.ledger.queue import SqlQueue
from verifier_ladder.ledger.records import Block, Charged, CheckRow, Request, Sealing
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.sqlreplies import SqlReplies
from verifier_ladder.ledger.totals import SqlTotals


class SqlLedger(SqlAudit, SqlTotals, SqlQueue, SqlAccounts, SqlReplies, SqlArtifacts):
    """A ledger in an SQL database, through SQLAlchemy.

    Open one with `open_ledger`, which makes and upgrades the tables.

    **Processes.** Several processes of one machine may use one file, and those of any machines
    one database. A process that was forked from one that holds it open must open it again.

    **Durability.** A call that has returned survives a crash of the process and of the machine.
    """

    @contained
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
        """See `Ledger.append`."""
        ready = Draft(block, self.clock(), sealed=self.is_sealed, as_of=as_of)
        if sealing is None and not self.is_shared:
            _ = ready.encoded  # Before the lock: other threads may write meanwhile.
        with self._writing() as connection:
            self._database.guard(connection, block.campaign)
            if sealing is not None:
                ready.recorded_at = sealing.time(self.clock())
            entry = write(connection, ready)
            if answered:
                remove_requests(connection, answered)
            if changed:
                write_requests(connection, changed)
            if enqueue:
                add_requests(connection, enqueue)
            if unwanted:
                cancel_unwanted(connection, unwanted, ready.recorded_at)
            if charges or kept is not None:
                dialect_of(connection).hold_accounts(connection, [block.campaign])
                who = (block.campaign, "" if block.samples is None else block.samples.run)
                for charged, (cost, checks) in (charges or {}).items():
                    charge(connection, who, charged, micros(cost), checks)
                if kept is not None:
                    keep(connection, block.campaign, micros(kept))
        return entry
