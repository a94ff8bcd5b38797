"""A watch tells listeners of what others write, and ends with its ledger."""

from threading import Event
from threading import enumerate as threads

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.store import Watch
from verifier_ladder.testing.records import score_block


def watching() -> bool:
    return any(thread.name == "vl-watch" for thread in threads())


def test_a_watch_hears_of_another_writer_and_ends_with_the_ledger(postgresql: str) -> None:
    told = Event()
    with open_ledger(postgresql) as ledger, open_ledger(postgresql) as other:
        assert not watching()
        ledger.subscribe(told.set)
        other.append(score_block(["a"]))
        assert told.wait(300)
    assert not watching()


def test_a_listener_may_close_the_ledger(postgresql: str) -> None:
    closed = Event()
    ledger = open_ledger(postgresql)

    def close() -> None:
        ledger.close()
        closed.set()

    ledger.subscribe(close)
    with open_ledger(postgresql) as other:
        other.append(score_block(["a"]))
        assert closed.wait(300)


def test_a_watch_goes_on_after_an_error_of_a_listener(postgresql: str) -> None:
    calls: list[int] = []
    again = Event()

    def fail() -> None:
        calls.append(ledger.newest())
        if len(calls) > 1:
            again.set()
        other.append(score_block(["a"], step=2**70))

    with open_ledger(postgresql) as ledger, open_ledger(postgresql) as other:
        ledger.subscribe(fail)
        for step in range(2):
            other.append(score_block(["b"], step=step))
            while len(calls) <= step:
                again.wait(0.01)
        assert again.is_set()


def test_a_closed_watch_has_ended(postgresql: str) -> None:
    with open_ledger(postgresql) as ledger:
        watch = Watch(ledger, every=0.001)  # type: ignore[arg-type]
        watch.close()
        assert not watch._thread.is_alive()
