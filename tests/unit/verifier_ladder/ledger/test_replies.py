"""Replies in a file are those in memory, whatever is begun, ended and asked for, and when."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.replies import KEPT, Reply

KEYS = st.sampled_from([b"a", b"b", b"c"])
REPLIES = st.builds(
    Reply, request=st.binary(max_size=2), campaign=st.sampled_from("cd"), run=st.just("r"),
    step=st.integers(0, 5), cursor=st.integers(0, 5),
)  # fmt: skip


class Replies(RuleBasedStateMachine):
    """Two ledgers that are told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        file = Path(self.folder.name) / "ledger.db"
        self.ledgers = [open_ledger(file), open_ledger(None)]
        self.now = 0.0

    @rule(key=KEYS, reply=REPLIES)
    def begin(self, key: bytes, reply: Reply) -> None:
        before = self.ledgers[1].reply(key, now=self.now)
        kept = [ledger.begin_reply(key, reply, now=self.now) for ledger in self.ledgers]
        assert kept == [before or reply] * 2

    @rule(key=KEYS, answer=st.binary(min_size=1, max_size=3))
    def end(self, key: bytes, answer: bytes) -> None:
        found = [ledger.end_reply(key, answer) for ledger in self.ledgers]
        assert found[0] == found[1]

    @rule(seconds=st.sampled_from([1.0, KEPT / 2, KEPT]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def both_keep_the_same(self) -> None:
        for key in (b"a", b"b", b"c"):
            file, memory = [ledger.reply(key, now=self.now) for ledger in self.ledgers]
            assert file == memory
        for campaign in "cd":
            assert 1 == len({ledger.next_step(campaign, "r") for ledger in self.ledgers})

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        self.folder.cleanup()


TestReplies = Replies.TestCase
TestReplies.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
