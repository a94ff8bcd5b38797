"""The ledger in memory: for tests and throw-away scoring, and the oracle of the SQL one."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.base import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.counting import ALL_STEPS, Counted, StepCount, VerdictCount
from verifier_ladder.ledger.encoding import encode, leaf
from verifier_ladder.ledger.memoryqueue import MemoryQueue
from verifier_ladder.ledger.memoryreplies import MemoryReplies
from verifier_ladder.ledger.records import (
    Alias,
    Block,
    CampaignRow,
    Charged,
    CheckRow,
    Entry,
    Extent,
    OvertakenError,
    Request,
    SampleReward,
    Sealing,
    VerdictRow,
)
from verifier_ladder.ledger.samples import (
    IDENTITY,
    SUPERSEDING,
    artifacts_in,
    distinct,
    hexadecimal,
    sample_rewards,
)
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.settings import load_settings
from verifier_ladder.verdict import Outcome, Verdict


class MemoryLedger(MemoryReplies, MemoryQueue, Ledger):
    """A ledger that is gone when the process ends.

    **Processes.** It is not shared: a forked process has its own copy from then on.

    Example:
        >>> ledger = MemoryLedger()
        >>> ledger.append(Block("score", "trial"))
        1
    """

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.url = "memory://"
        self._lock = threading.RLock()
        self._closed = False
        self._entries: list[Entry] = []
        self._aliases: dict[tuple[bytes, bytes], Alias] = {}
        self._verdicts: dict[bytes, tuple[VerdictRow, int]] = {}
        self._rewards: dict[tuple[str, str, int], dict[int, SampleReward]] = {}
        self._steps: dict[tuple[str, str, int], list[tuple[int, frozenset[int]]]] = {}
        self._samples: dict[int, int] = {}
        self._counted = Counted()
        self._appearances: dict[bytes, list[int]] = {}
        self._contents: dict[bytes, tuple[bytes, str, str | bytes]] = {}
        self._campaigns: dict[str, CampaignRow] = {}
        self._runs: dict[str, dict[str, bytes]] = {}
        self._sources: dict[tuple[str, str], list[str]] = {}
        self._artifacts: dict[str, tuple[str, bytes]] = {}
        """Campaign and bytes of each, by digest."""
        self._erased: set[str] = set()

    @contextmanager
    def _held(self, *, tell: bool = False) -> Iterator[None]:
        """Hold the lock; then tell the listeners, if something has changed."""
        with self._lock:
            if self._closed:
                raise LedgerError("this ledger is closed; open it again with open_ledger")
            yield
        if tell:
            self._tell()

    # -- cache -----------------------------------------------------------------------------------

    def aliases(self, canonicaliser: bytes, raw_keys: Sequence[bytes]) -> dict[bytes, Alias]:
        """See `Ledger.aliases`."""
        with self._held():
            return {
                key: alias
                for key in raw_keys
                if (alias := self._aliases.get((canonicaliser, key))) is not None
            }

    def verdicts(self, check_keys: Sequence[bytes]) -> dict[bytes, Verdict]:
        """See `Ledger.verdicts`."""
        with self._held():
            known = self._verdicts
            return {key: known[key][0].verdict for key in check_keys if key in known}

    # -- entries ---------------------------------------------------------------------------------

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
        now = self.clock() if sealing is None else sealing.time(self.clock())
        body = encode(block, now)
        with self._held(tell=True):
            self._refuse_overtaken(block, as_of)
            amounts = self._amounts(charges or {})
            entry = self._record(block, now, body)
            self._remove_requests(answered)
            self._write_requests(changed)
            self._add_requests(enqueue)
            self._cancel(unwanted, now)
            run = "" if block.samples is None else block.samples.run
            self._charge(block.campaign, run, amounts)
            if kept is not None:
                self._keep(block.campaign, kept)
        return entry

    def _refuse_overtaken(self, block: Block, as_of: int | None) -> None:
        if as_of is None or block.kind not in SUPERSEDING:
            return
        for row in block.verdicts:
            if row.check_key in self._verdicts and self._verdicts[row.check_key][1] > as_of:
                told = row.check_key.hex()[:16]
                raise OvertakenError(f"the case {told} was told of meanwhile")

    def _record(self, block: Block, now: float, body: bytes | None = None) -> int:
        body = encode(block, now) if body is None else body
        entry = len(self._entries) + 1
        self._entries.append(Entry(entry, block.kind, block.campaign, now, body, leaf(body)))
        for row in block.candidates:
            form = row.content if row.canonical is None else row.canonical
            self._contents.setdefault(row.content_key, (row.content_key, row.kind, form))
            if row.canonicaliser != IDENTITY and (row.verdict is None or row.verdict.is_answer):
                alias = Alias(row.content_key, row.canonical, row.verdict)
                self._aliases.setdefault((row.canonicaliser, row.raw_key), alias)
        self._index_verdicts(block, entry)
        self._index_samples(block, entry)
        self._keep_artifacts(block)
        self._counted.add(block)
        for key in distinct(block):
            self._appearances.setdefault(key, []).append(entry)
        return entry

    def _keep_artifacts(self, block: Block) -> None:
        found = artifacts_in(block)
        most = load_settings().campaign_artifacts if found else 0
        for artifact in found:
            kept = sum(len(data) for by, data in self._artifacts.values() if by == block.campaign)
            is_known = artifact.digest in self._artifacts or artifact.digest in self._erased
            if not is_known and kept + artifact.size <= most:
                self._artifacts[artifact.digest] = block.campaign, artifact.data or b""
            artifact.drop()

    def artifact(self, digest: str) -> bytes | None:
        """See `Ledger.artifact`."""
        with self._held():
            return self._artifacts.get(digest, ("", None))[1]

    def erase_artifacts(self, digests: Sequence[str]) -> int:
        """See `Ledger.erase_artifacts`."""
        with self._held():
            erased = [digest for digest in digests if self._artifacts.pop(digest, None)]
            self._erased.update(erased)
            return len(erased)

    def _index_verdicts(self, block: Block, entry: int) -> None:
        known = self._verdicts
        for row in block.verdicts:
            if not row.verdict.is_answer:
                continue
            if block.kind in SUPERSEDING or row.check_key not in known:
                known[row.check_key] = (row, entry)

    def _index_samples(self, block: Block, entry: int) -> None:
        if block.samples is None:
            return
        key = (block.campaign, block.samples.run, block.samples.step)
        self._rewards.setdefault(key, {}).update(sample_rewards(entry, block))
        if len(block.samples.positions):
            its = frozenset(listed(block.samples.positions))
            self._steps.setdefault(key, []).append((entry, its))
        if block.kind != "revision":
            self._samples[entry] = len(set(block.samples.positions))

    def entries(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        kind: str | None = None,
        campaign: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """See `Ledger.entries`."""
        with self._held():
            pass
        return self._select(max(0, after), until, kind, campaign, limit)

    def last(self, *, kind: str, campaign: str) -> Entry | None:
        """See `Ledger.last`."""
        with self._held():
            for entry in reversed(self._entries):
                if (entry.kind, entry.campaign) == (kind, campaign):
                    return entry
            return None

    def _select(
        self,
        after: int,
        until: int | None,
        kind: str | None,
        campaign: str | None,
        limit: int | None,
    ) -> Iterator[Entry]:
        left = limit
        end = inf if until is None else until
        while after < min(end, len(self._entries)) and (left is None or left > 0):
            entry = self._entries[after]
            after += 1
            if kind in {None, entry.kind} and campaign in {None, entry.campaign}:
                left = None if left is None else left - 1
                yield entry

    def newest(self) -> int:
        """See `Ledger.newest`."""
        with self._held():
            return len(self._entries)

    def latest(self, after: int = 0) -> tuple[int, float]:
        """See `Ledger.latest`."""
        with self._held():
            times = [entry.recorded_at for entry in self._entries[after:]]
            return len(self._entries), max(times, default=0.0)

    def mentions(self, content_key: bytes) -> list[int]:
        """See `Ledger.mentions`."""
        with self._held():
            return list(self._appearances.get(content_key, ()))

    def find_contents(self, prefix: str, limit: int = 20) -> list[tuple[bytes, str, str | bytes]]:
        """See `Ledger.find_contents`."""
        digits = hexadecimal(prefix)
        with self._held():
            found = sorted(
                (row for key, row in self._contents.items() if key.hex().startswith(digits)),
                key=lambda row: row[0],
            )
        return found[:limit]

    # -- samples ---------------------------------------------------------------------------------

    def next_step(self, campaign: str, run: str) -> int:
        """See `Ledger.next_step`."""
        with self._held():
            steps = [key[2] for key in self._rewards if key[:2] == (campaign, run)]
            steps += [r.step for r, _ in self._replies.values() if r[1:3] == (campaign, run)]
        return max(steps) + 1 if steps else 0

    def count_samples(self, campaign: str) -> int:
        """See `Ledger.count_samples`."""
        with self._held():
            ids = [entry.id for entry in self._entries if entry.campaign == campaign]
            return sum(self._samples.get(entry, 0) for entry in ids)

    def recorded(
        self, campaign: str, run: str, step: int, *, within: tuple[int, int] | None = None
    ) -> dict[int, SampleReward]:
        """See `Ledger.recorded`."""
        del within  # All of them cost no more than some.
        with self._held():
            return dict(self._rewards.get((campaign, run, step), {}))

    def step_entries(
        self,
        campaign: str,
        run: str,
        step: int,
        *,
        after: int = 0,
        positions: Collection[int] | None = None,
    ) -> Iterator[Entry]:
        """See `Ledger.step_entries`."""
        with self._held():
            known = list(self._steps.get((campaign, run, step), ()))
        return (
            self._entries[number - 1] for number, its in known
            if number > after and (positions is None or not its.isdisjoint(positions))
        )  # fmt: skip

    # -- campaigns and runs ----------------------------------------------------------------------

    def open_campaign(self, name: str, ladder: Mapping[str, Any], digest: bytes) -> CampaignRow:
        """See `Ledger.open_campaign`."""
        with self._held(tell=True):
            if name not in self._campaigns:
                now = self.clock()
                facts = {"name": name, "ladder": ladder, "ladder_digest": digest.hex()}
                self._record(Block("campaign", name, facts=facts), now)
                kept = loads(dumps(ladder))
                self._campaigns[name] = CampaignRow(name, kept, digest, now)
            return self._campaigns[name]

    def campaigns(self, name: str | None = None) -> list[CampaignRow]:
        """See `Ledger.campaigns`."""
        with self._held():
            return [row for row in self._campaigns.values() if name in {None, row.name}]

    def add_run(self, campaign: str, run: Mapping[str, Any]) -> None:
        """See `Ledger.add_run`."""
        with self._held(tell=True):
            known = self._runs.setdefault(campaign, {})
            if run["name"] not in known:
                self._record(Block("run", campaign, facts=dict(run)), self.clock())
                known[run["name"]] = dumps(dict(run))

    def runs(self, campaign: str) -> list[Mapping[str, Any]]:
        """See `Ledger.runs`."""
        with self._held():
            return [loads(body) for body in self._runs.get(campaign, {}).values()]

    def note_verifier(self, name: str, version: str, source_digest: str) -> str | None:
        """See `Ledger.note_verifier`."""
        if not source_digest:
            return None
        with self._held():
            known = self._sources.setdefault((name, version), [])
            others = [digest for digest in known if digest != source_digest]
            if source_digest not in known:
                known.append(source_digest)
        return others[-1] if others else None

    # -- life ------------------------------------------------------------------------------------

    def statistics(self, campaign: str | None = None) -> dict[str, Any]:
        """See `Ledger.statistics`."""
        with self._held():
            ids = {e.id for e in self._entries if campaign in {None, e.campaign}}
            verdicts: dict[str, dict[str, int]] = {}
            for row, entry in self._verdicts.values():
                if entry in ids:
                    name = f"{row.verifier} {row.version}"
                    counts = verdicts.setdefault(name, dict.fromkeys(map(str, Outcome), 0))
                    counts[str(row.verdict.outcome)] += 1
            return {
                "newest": len(self._entries),
                "entries": len(ids),
                "candidates": sum(not ids.isdisjoint(at) for at in self._appearances.values()),
                "samples": sum(n for entry, n in self._samples.items() if entry in ids),
                "verdicts": dict(sorted(verdicts.items())),
            }

    def extent(self, campaign: str) -> Extent:
        """See `Ledger.extent`."""
        with self._held():
            its = [entry for entry in self._entries if entry.campaign == campaign]
            return Extent(len(its), its[-1].id, its[-1].recorded_at) if its else Extent()

    def verdict_counts(self, campaign: str) -> list[VerdictCount]:
        """See `Ledger.verdict_counts`."""
        with self._held():
            told = [(*key, n) for key, n in self._counted.verdicts.items() if key[0] == campaign]
        return sorted(VerdictCount(*row[1:]) for row in told)

    def step_counts(
        self, campaign: str, *, whole_runs: bool = False, since: int = 0
    ) -> list[StepCount]:
        """See `Ledger.step_counts`."""
        with self._held():
            found = [row for key, row in self._counted.steps.items() if key[0] == campaign]
        return sorted(
            (r for r in found if (r.step == ALL_STEPS if whole_runs else r.step >= since)),
            key=lambda row: (row.step, row.run),
        )

    def reopened(self) -> Ledger:
        """See `Ledger.reopened`."""
        raise LedgerError("a ledger in memory can't be opened twice; share the open one")

    def close(self) -> None:
        """Refuse further use."""
        with self._lock:
            self._closed = True
