"""Comparisons: a group before a verifier above the fast tier, as one check of the work queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verifier_ladder.candidate import Candidate
from verifier_ladder.group import apart, group_of, with_judged, with_share
from verifier_ladder.hidden import without_hidden
from verifier_ladder.keys import group_key, member_key
from verifier_ladder.scheduler.replicates import combined
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.verifiers import Verifier

ALONE = "it has no other member of its group to be compared with"
Rows = Sequence[tuple[bytes, int]]
"""The check key that each member would have by itself, and how often it is there; sorted."""


def comparing(ladder: Ladder) -> tuple[int, Verifier] | None:
    """The verifier above the fast tier that compares groups, and its place among the askings."""
    verifier = ladder.rungs[-1].verifiers[-1]
    if verifier.scope != "group" or not ladder.compares_above:
        return None
    return ladder.askings.index((verifier, 0)), verifier


class Comparison:
    """The members of one group, by their keys.

    What is said of the group is filed under a key that is made of theirs, and told to each of
    them apart. Its members have standings of their own (`member`), which share it.
    """

    def __init__(self, verifier: Verifier, place: int, rows: Rows) -> None:
        """Compare members.

        Args:
            verifier: Who compares them.
            place: The place of its checks among a standing's.
            rows: The members.
        """
        self.verifier, self.place = verifier, place
        self.rows = tuple(sorted((bytes(key), int(count)) for key, count in rows))
        self.standings: dict[bytes, Standing] = {}
        """One standing of each member, by the key that it would have by itself, if known."""

    @classmethod
    def of(cls, verifier: Verifier, place: int, members: Iterable[Standing]) -> Comparison:
        """Compare candidates, as often as each is given; some differ in what is not read."""
        known = list(members)
        counts = Counter(standing.keys[place] for standing in known)
        made = cls(verifier, place, list(counts.items()))
        made.standings = {standing.keys[place]: standing for standing in known}
        return made

    @classmethod
    def from_json(cls, verifier: Verifier, place: int, stored: Sequence[Any]) -> Comparison:
        """Read what `as_json` wrote."""
        return cls(verifier, place, [(bytes.fromhex(key), count) for key, count in stored])

    def as_json(self) -> list[list[Any]]:
        """The members as JSON."""
        return [[key.hex(), count] for key, count in self.rows]

    @cached_property
    def key(self) -> bytes:
        """Key of the check."""
        repeated = (key for key, count in self.rows for _ in range(count))
        return group_key(self.verifier.key_digest, repeated)

    @property
    def size(self) -> int:
        """How many samples are compared."""
        return sum(count for _, count in self.rows)

    @property
    def content_key(self) -> bytes:
        """Content under which the check is filed: that of its first member."""
        return self.standings[self.rows[0][0]].content_key

    @property
    def candidate(self) -> Candidate:
        """The whole group, as the verifier is given it."""
        standings = [self.standings[key] for key, _ in self.rows]
        seen = Standing.all_seen_by(standings, self.verifier)
        return group_of([(one, n) for one, (_, n) in zip(seen, self.rows, strict=True)])

    def member(self, standing: Standing) -> Standing:
        """A candidate as a member, where nobody has judged that yet.

        Raises:
            ValueError: If it is none.
        """
        plain = standing.keys[self.place]
        if plain not in dict(self.rows):
            raise ValueError("it is no member of this group")
        made = standing.in_group()
        made.verdicts.pop(self.verifier.name, None)
        mine = member_key(self.key, plain)
        made.keys = (*standing.keys[: self.place], mine, *standing.keys[self.place + 1 :])
        made.comparison = self
        return made

    def tell(self, member: Standing, plain: bytes, verdict: Verdict) -> None:
        """Tell a member what the verdict of the group says of it; of equal ones the mean."""
        if self.size == 1:
            member.learn(self.verifier.name, verdict)
            return
        said, before = with_judged(apart(verdict, self.size)), 0
        for key, count in self.rows:
            if key == plain:
                told = said[before : before + count]
                one = told[0] if told.count(told[0]) == count else combined(told)
                one = without_hidden(self.verifier, member.candidate, one)
                member.learn(self.verifier.name, with_share(one, verdict.cost, len(self.rows)))
            before += count


def party_of(rows: Mapping[str, Any]) -> Sequence[Any] | None:
    """The members of the group that a sample waits for, as its request holds them."""
    found: Sequence[Any] | None = rows.get("party")
    return found
