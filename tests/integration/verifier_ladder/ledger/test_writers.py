"""Many writers at once on one PostgreSQL ledger: nothing is lost, told twice or overspent."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from threading import Barrier, Event
from typing import TypeVar

import forked
import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, Charged, CheckState
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.scheduler.steprewards import StepRewards
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
    key,
    request,
    score_block,
    verdict_row,
)
from verifier_ladder.verdict import Outcome, Verdict

T = TypeVar("T")
AT_ONCE = 6
WORKER = """
import sys
from verifier_ladder.ledger import open_ledger
from verifier_ladder.cost import Cost
from verifier_ladder.testing.records import completion
from verifier_ladder.verdict import Verdict
# Without a cost its time is charged, and a slow machine would use up the cap.
SAID = Verdict.accept(1.0, cost=Cost(0.01))
with open_ledger(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    while claims := ledger.claim(owner=sys.argv[2], lease=60, limit=7, now=ledger.clock()):
        for ended in ledger.complete([completion(c, SAID) for c in claims], now=ledger.clock()):
            print(ended.claim.check.payload["content"], flush=True)
"""
MAKER = """
import sys
from verifier_ladder.ledger import open_ledger
from verifier_ladder.testing.records import score_block
with open_ledger(sys.argv[1]) as ledger:
    ledger.append(score_block([sys.argv[2]]))
"""


@pytest.fixture
def ledger(postgresql: str) -> Iterator[SqlLedger]:
    with open_ledger(postgresql) as opened:
        assert isinstance(opened, SqlLedger)
        yield opened


@pytest.fixture
def beside() -> Iterator[Callable[[Callable[[], object]], Future[object]]]:
    """Make a call in another thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


def all_at_once(call: Callable[[int], T]) -> list[T]:
    """Make numbered calls in as many threads, which begin together."""
    barrier = Barrier(AT_ONCE)

    def begin(number: int) -> T:
        barrier.wait()
        return call(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(begin, range(AT_ONCE)))


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return forked.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
    )  # fmt: skip


# -- processes ------------------------------------------------------------------------------------


def test_processes_complete_every_check_exactly_once(ledger: SqlLedger, postgresql: str) -> None:
    words = [f"w{n}" for n in range(200)]
    ledger.set_caps(CAMPAIGN, {(1, CPU): 20.0})
    enqueue(ledger, *(check_row(word) for word in words))
    workers = [start(WORKER, postgresql, str(n)) for n in range(3)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    finished = [line for worker in workers for line in worker.communicate("go\n")[0].split()]
    assert sorted(finished) == sorted(words)
    (account,) = ledger.accounts(CAMPAIGN)
    assert (account.checks, account.reserved) == (200, 0.0)
    assert {row.attempt for row in ledger.checks(states=[CheckState.DONE])} == {1}


def test_many_processes_may_make_one_ledger(new_database: str) -> None:
    makers = [start(MAKER, new_database, f"w{n}") for n in range(3)]
    for maker in makers:
        maker.communicate()
    assert [maker.returncode for maker in makers] == [0] * 3
    with open_ledger(new_database) as ledger:
        assert len(list(ledger.entries())) == 3


# -- the order of entries -------------------------------------------------------------------------


def test_an_entry_is_shown_only_when_none_can_come_before_it(ledger: SqlLedger) -> None:
    ledger.append(score_block(["a"]))
    with ledger._writing() as early:
        first = write(early, Draft(score_block(["early"]), NOW))
        second = ledger.append(score_block(["late"]))
        assert (ledger.newest(), list(ledger.entries(after=1))) == (1, [])
        assert set(ledger.verdicts([key("check late")])) == {key("check late")}
    assert [entry.id for entry in ledger.entries(after=1)] == [first, second]
    assert ledger.newest() == second


@pytest.mark.parametrize("positions", [None, [0]])
def test_what_a_step_holds_is_told_whoever_else_writes(
    positions: list[int] | None, ledger: SqlLedger
) -> None:
    first = ledger.append(score_block(["a"]))
    with ledger._writing() as early:
        write(early, Draft(score_block(["early"], first=7), NOW))
        late = ledger.append(score_block(["late"]))
        found = ledger.step_entries(CAMPAIGN, "run", 0, positions=positions)
        assert [entry.id for entry in found] == [first, late]


def test_a_step_that_is_read_on_loses_no_entry_of_a_writer_at_work(ledger: SqlLedger) -> None:
    step = StepRewards(ledger, CAMPAIGN, "run", 0)
    ledger.append(score_block(["a"]))
    with ledger._writing() as early:
        write(early, Draft(score_block(["early"], first=7), NOW))
        ledger.append(score_block(["late"], first=9))
        step.read()
        assert step.positions == [0]
    step.read()
    assert step.positions == [0, 7, 9]


def test_a_call_that_fails_holds_nothing_back(ledger: SqlLedger) -> None:
    ledger.append(score_block(["a"]))
    with suppress(ZeroDivisionError), ledger._writing() as lost:
        write(lost, Draft(score_block(["lost"]), NOW))
        later = ledger.append(score_block(["a"]))
        raise ZeroDivisionError
    assert [entry.id for entry in ledger.entries(after=1)] == [later]


def test_a_cursor_loses_no_entry_of_writers_at_work(ledger: SqlLedger) -> None:
    read: list[int] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        blocks = [score_block([f"{n}.{i}" for i in range(n % 7)]) for n in range(120)]
        written = [pool.submit(ledger.append, block) for block in blocks]
        while len(read) < len(written):
            read += [entry.id for entry in ledger.entries(after=read[-1] if read else 0)]
            assert not any(call.exception() for call in written if call.done())
    assert sorted(call.result() for call in written) == read
    assert all(before < after for before, after in pairwise(read))


def test_a_listener_hears_of_what_others_write(ledger: SqlLedger, postgresql: str) -> None:
    told = Event()
    ledger.subscribe(told.set)
    with open_ledger(postgresql) as other:
        other.append(score_block(["a"]))
    assert told.wait(300)


# -- the same thing at once -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 30, 300])
def test_a_check_told_by_many_at_once_has_one_verdict(ledger: SqlLedger, count: int) -> None:
    words = [f"w{n}" for n in range(count)]

    def tell(number: int) -> None:
        order = words if number % 2 else words[::-1]
        rows = [verdict_row(word, Verdict.accept(float(number))) for word in order]
        ledger.append(Block("score", CAMPAIGN, (), rows))

    all_at_once(tell)
    with ledger._reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM verdict").scalar() == len(words)
    found = ledger.verdicts([key(f"check {word}") for word in words])
    assert len({verdict.score for verdict in found.values()}) == 1
    assert [len(ledger.read(entry).verdicts) for entry in ledger.entries()] == [count] * AT_ONCE


def test_what_many_write_at_once_is_counted_whole_and_none_waits_in_a_circle(
    ledger: SqlLedger,
) -> None:
    names = ["one", "two"]

    def tell(number: int) -> None:
        order = names if number % 2 else names[::-1]
        with ledger._writing() as connection:
            for name in order * 3:
                write(connection, Draft(score_block([f"w{number}"], campaign=name)))

    all_at_once(tell)
    for name in names:
        (run,) = ledger.step_counts(name, whole_runs=True)
        (ended,) = ledger.verdict_counts(name)
        assert (run.samples, run.mean, ended.checks) == (3 * AT_ONCE, 2.0, 3 * AT_ONCE)
    while ledger.sequence():
        pass
    assert [] == ledger.verify().problems


def test_of_corrections_at_once_each_supersedes_the_one_before(ledger: SqlLedger) -> None:
    def correct(number: int) -> None:
        row = verdict_row("a", Verdict.accept(float(number)))
        ledger.append(Block("review", CAMPAIGN, (), [row]))

    all_at_once(correct)
    with ledger._reading() as connection:
        rows = connection.exec_driver_sql("SELECT supersedes, id, score FROM verdict ORDER BY id")
        chain = [tuple(row) for row in rows]
    assert [row[0] for row in chain] == [None, *(row[1] for row in chain[:-1])]
    assert ledger.verdicts([key("check a")])[key("check a")].score == chain[-1][2]


def test_the_same_checks_may_be_asked_for_at_once_in_any_order(ledger: SqlLedger) -> None:
    words = [f"w{n}" for n in range(20)]

    def ask(number: int) -> None:
        name, order = f"campaign {number}", words if number % 2 else words[::-1]
        asked = [
            (check_row(word, campaign=name), [request(word, campaign=name)]) for word in order
        ]
        ledger.append(Block("score", name), enqueue=asked, charges={Charged(0): (Cost(1.0), 1)})

    all_at_once(ask)
    assert (len(ledger.checks()), len(ledger.requests())) == (20, 20 * AT_ONCE)


def test_claims_at_once_take_each_check_once_and_keep_every_cap(ledger: SqlLedger) -> None:
    """Each check is wanted by two campaigns, of which neither can pay for all."""
    names = ["one", "two"]
    for name in names:
        ledger.set_caps(name, {(1, CPU): 20.0})
    for n in range(60):
        wanted = [request(f"w{n}", campaign=name) for name in names]
        enqueue(ledger, check_row(f"w{n}", campaign=names[n % 2]), requests=wanted)

    def work(number: int) -> list[bytes]:
        taken = []
        for _ in range(8):
            claims = claim(ledger, 3, owner=str(number))
            taken += [claimed.check.check_key for claimed in claims]
            said = Verdict(Outcome.ACCEPT, 1.0, cost=Cost(1.0))
            ledger.complete([completion(claimed, said) for claimed in claims[:1]], now=NOW)
        return taken

    taken = [name for names in all_at_once(work) for name in names]
    taken += [claimed.check.check_key for claimed in claim(ledger, 60)]
    assert (len(taken), len(set(taken))) == (40, 40)
    for name in names:
        (account,) = ledger.accounts(name)
        assert account.spent + account.reserved == 20.0


def test_a_check_that_is_just_asked_for_is_not_cancelled(
    ledger: SqlLedger, beside: Callable[..., Future[object]]
) -> None:
    from verifier_ladder.ledger.asking import add_requests

    enqueue(ledger, check_row("a"))
    with ledger._writing() as asking:
        add_requests(asking, [(check_row("a"), [request("a")])])
        cancelled = beside(lambda: ledger.cancel([key("check a")], now=NOW))
        wait_until_blocked(ledger)
    assert cancelled.result() == 0


def test_two_reapers_take_back_each_lease_once(ledger: SqlLedger) -> None:
    enqueue(ledger, *(check_row(f"w{n}") for n in range(30)))
    claim(ledger, 30)
    assert sum(all_at_once(lambda _: ledger.reap(now=NOW + 61))) == 30
    assert {row.attempt for row in ledger.checks()} == {1}


def wait_until_blocked(ledger: Ledger) -> None:
    """Until a connection waits for a lock; pytest's timeout ends it if none ever does."""
    assert isinstance(ledger, SqlLedger)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    found = 0
    while not found:
        with ledger._reading() as connection:
            found = connection.exec_driver_sql(waiting).scalar_one()
