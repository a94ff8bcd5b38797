"""Conformance of a ledger's replies: one answer under one key, for a day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.replies import KEPT, Reply
from verifier_ladder.testing.records import CAMPAIGN, NOW, key, score_block

REPLY = Reply(key("request"), CAMPAIGN, "run", 7, 3)
KEY = key("key")


class ReplyTests:
    """**Abstract:** the part of the contract about replies."""

    def test_a_reply_that_nobody_began_is_none(self, ledger: Ledger) -> None:
        assert ledger.reply(KEY, now=NOW) is None
        assert ledger.end_reply(KEY, b"answer") == b"answer"
        assert ledger.reply(KEY, now=NOW) is None

    def test_the_first_to_begin_a_reply_places_it(self, ledger: Ledger) -> None:
        other = REPLY._replace(request=key("another request"), step=8, cursor=4)
        begun = [ledger.begin_reply(KEY, reply, now=NOW) for reply in (REPLY, other)]
        assert begun == [REPLY, REPLY]
        assert ledger.reply(KEY, now=NOW + 1) == REPLY
        assert ledger.reply(key("another key"), now=NOW) is None

    def test_of_many_who_begin_at_once_one_is_first(self, ledger: Ledger) -> None:
        def begin(step: int) -> Reply:
            return ledger.begin_reply(KEY, REPLY._replace(step=step), now=NOW)

        with ThreadPoolExecutor(8) as pool:
            begun = set(pool.map(begin, range(40)))
            answers = set(pool.map(lambda n: ledger.end_reply(KEY, b"%d" % n), range(40)))
        (kept,) = begun
        assert answers == {ledger.reply(KEY, now=NOW).answer}  # type: ignore[union-attr]
        assert kept.step in range(40)

    def test_the_first_answer_is_everybodys(self, ledger: Ledger) -> None:
        ledger.begin_reply(KEY, REPLY, now=NOW)
        answers = [ledger.end_reply(KEY, answer) for answer in (b"\0first", b"second")]
        assert answers == [b"\0first"] * 2
        assert ledger.reply(KEY, now=NOW) == REPLY._replace(answer=b"\0first")

    def test_a_reply_goes_away_after_a_day(self, ledger: Ledger) -> None:
        ledger.begin_reply(KEY, REPLY, now=NOW)
        ledger.end_reply(KEY, b"answer")
        assert ledger.reply(KEY, now=NOW + KEPT - 1) is not None
        assert ledger.reply(KEY, now=NOW + KEPT) is None
        assert ledger.begin_reply(KEY, REPLY, now=NOW + KEPT) == REPLY

    def test_the_step_of_a_reply_is_taken(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a"], step=2))
        ledger.begin_reply(KEY, REPLY, now=NOW)
        assert ledger.next_step(CAMPAIGN, "run") == 8
        assert ledger.next_step(CAMPAIGN, "another run") == 0
        assert ledger.next_step("another campaign", "run") == 0
