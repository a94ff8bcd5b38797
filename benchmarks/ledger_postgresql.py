"""What the ledger costs in PostgreSQL, and how it compares with the server's own COPY.

A server of its own is started, durable, on loopback. The raw COPY writes the same bytes in as many
records: one row per sample with a unique 32-byte key, in one transaction, by the same driver. All
variants take turns, so that the machine's load meets all of them alike; the ratios are of medians
over the rounds.
"""

import argparse
import statistics

import psycopg
from ledger_append import CANONICALISER, block, cached, digests, rows_keys, timed

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.encoding import encode
from verifier_ladder.ledger.records import Block, CheckRow, CheckState, Completion, Request
from verifier_ladder.testing.servers import PostgresqlServer
from verifier_ladder.verdict import Verdict

Rows = list[tuple[bytes, bytes]]


class Raw:
    """The bulk insert that nothing through PostgreSQL can beat."""

    def __init__(self, url: str) -> None:
        """Make one table with a unique key, and another for a queue."""
        self.connection = psycopg.connect(url)
        self.connection.execute("CREATE TABLE t (id BIGSERIAL PRIMARY KEY, k BYTEA, body BYTEA)")
        self.connection.execute("CREATE UNIQUE INDEX tk ON t (k)")
        self.connection.execute("CREATE TABLE q (k BYTEA PRIMARY KEY, state INTEGER, body BYTEA)")
        self.connection.commit()

    def copy(self, rows: Rows) -> None:
        """Insert in one transaction."""
        with self.connection.cursor().copy("COPY t (k, body) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bytea", "bytea"])
            for row in rows:
                copy.write_row(row)
        self.connection.commit()

    def fill(self, rows: Rows) -> None:
        """Queue what `work` takes."""
        with self.connection.cursor() as cursor:
            cursor.executemany("INSERT INTO q VALUES (%s, 0, %s)", rows)
        self.connection.commit()

    def work(self, size: int) -> None:
        """Claim and complete by the least that a queue in PostgreSQL does, two commits a batch."""
        while True:
            claimed = self.connection.execute(
                "WITH ready AS MATERIALIZED (SELECT k FROM q WHERE state = 0 LIMIT %s "
                "FOR UPDATE SKIP LOCKED) UPDATE q SET state = 1 FROM ready "
                "WHERE q.k = ready.k RETURNING q.k",
                (size,),
            ).fetchall()
            self.connection.commit()
            if not claimed:
                return
            keys = [key for (key,) in claimed]
            self.connection.execute("UPDATE q SET state = 3 WHERE k = ANY(%s)", (keys,))
            self.connection.commit()


def queued(step: int, count: int) -> list[tuple[CheckRow, list[Request]]]:
    """Checks to ask for."""
    return [
        (
            CheckRow(
                key, key, "bench", "xtb", "1", 1, CheckState.QUEUED, 1.0, Cost(1.0),
                {"kind": "text", "content": f"candidate {n}"},
            ),
            [],
        )
        for n, key in enumerate(digests("queued", step, count))
    ]  # fmt: skip


def work(ledger: Ledger, size: int) -> None:
    """Claim and complete all that is queued."""
    now = ledger.clock()
    while claims := ledger.claim(owner="bench", lease=60.0, limit=size, now=now):
        said = Verdict.accept(1.0)
        ledger.complete([Completion(c, said, c.check.content_key) for c in claims], now=now)


def one_round(step: int, count: int, batch: int, ledger: Ledger, raw: Raw) -> dict[str, float]:
    """Time every variant once."""
    new = block(step, count)
    named = block(-step - 1, count, canonicaliser=CANONICALISER)
    known = cached(new, step + 1_000_000)
    size = len(encode(new, 0.0)) // count
    rows: Rows = [(key, b"x" * size) for key in digests("raw row", step, count)]
    checks = [row.check_key for row in new.verdicts]
    raws = [row.raw_key for row in named.candidates]
    asked = queued(step, count)
    raw.fill(rows)
    return {
        "raw COPY, same bytes and records": timed(lambda: raw.copy(rows), count),
        "append, all new": timed(lambda: ledger.append(new), count),
        "append, all new, with aliases": timed(lambda: ledger.append(named), count),
        "append, all cached": timed(lambda: ledger.append(known), count),
        "verdicts(), all found": timed(lambda: ledger.verdicts(checks), count),
        "verdicts(), none found": timed(lambda: ledger.verdicts(rows_keys(rows)), count),
        "aliases(), all found": timed(lambda: ledger.aliases(CANONICALISER, raws), count),
        "ask for checks": timed(
            lambda: ledger.append(Block("score", "bench"), enqueue=asked), count
        ),
        f"raw claim to complete, {batch} at a time": timed(lambda: raw.work(batch), count),
        f"claim to complete, {batch} at a time": timed(lambda: work(ledger, batch), count),
    }


def measure(count: int, batch: int, rounds: int) -> dict[str, list[float]]:
    """The times of all rounds; the first fills caches and is dropped."""
    times: dict[str, list[float]] = {}
    with PostgresqlServer(durable=True) as server:
        raw = Raw(server.new_database())
        with open_ledger(server.new_database()) as ledger:
            for step in range(rounds + 1):
                for name, value in one_round(step, count, batch, ledger, raw).items():
                    times.setdefault(name, []).append(value)
        raw.connection.close()
    return {name: values[1:] for name, values in times.items()}


def main() -> None:
    """Print one line per variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--block", type=int, default=1000, help="records in a block")
    parser.add_argument("--batch", type=int, default=100, help="checks in a claim")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    times = measure(options.block, options.batch, options.rounds)
    print(f"{'blocks of ' + str(options.block):42}  median µs a record   raw / this")
    base = 1.0
    for name, values in times.items():
        median = statistics.median(values)
        base = median if name.startswith("raw") else base  # Each raw one stands before its peers.
        print(f"{name:42}  {median:18.2f}   {base / median:10.2f}")


if __name__ == "__main__":
    main()
