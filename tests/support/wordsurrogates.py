"""Surrogates of words, whose every part is cheap: no RDKit, no torch, no worker process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Self

import numpy as np

from verifier_ladder.artifact import artifacts_of
from verifier_ladder.candidate import Candidate
from verifier_ladder.keys import check_key, content_key
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, VerdictRow
from verifier_ladder.scheduler.surrogates import KIND
from verifier_ladder.tiers.fast.surrogate import (
    DATA,
    MEMBERS,
    TRAINED,
    WEIGHTS,
    WIDTH,
    Model,
    Surrogate,
    Training,
    trained_bytes,
)
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier


class Letters:
    """Describes a text by how often a and b are in it; anagrams are one family."""

    kind = "text"
    version = "1"

    def numbers(self, content: str | bytes) -> list[float]:
        return [float(str(content).count("a")), float(str(content).count("b"))]

    def family(self, content: str | bytes) -> str:
        return "".join(sorted(str(content)))


def surrogate(**settings: object) -> Surrogate:
    """A surrogate of texts that runs in this process."""
    made = Surrogate(kind="text", descriptors=Letters(), **settings)  # type: ignore[arg-type]
    made.isolation = "inline"
    return made


def model(slope: float = 1.0, name: str = "ab" * 32, noise: float = 0.5) -> Model:
    """A version that says the number of a's, times a slope."""
    first = np.zeros((MEMBERS, 2, WIDTH))
    first[:, 0, 0] = 1.0
    second = np.zeros((MEMBERS, WIDTH))
    second[:, 0] = slope
    layers = first, np.zeros((MEMBERS, WIDTH)), second, np.zeros(MEMBERS)
    wide = np.full(2, 1.0)
    return Model(name, 64, noise, np.zeros(2), wide, -9.0, 9.0, layers, frozenset())


def publish(
    ledger: Ledger, campaign: str, of: Surrogate, made: Model, *, is_shadow: bool = False,
    trained: tuple[str, ...] = (), labels: int = 64,
) -> dict[str, object]:  # fmt: skip
    """Write the entry with which a version begins to speak."""
    files = artifacts_of({
        WEIGHTS: made.written(),
        TRAINED: trained_bytes([content_key("text", text) for text in trained]),
    })  # fmt: skip
    by, data = Training(of), content_key(DATA, made.name)
    said = replace(Verdict.accept(), artifacts=files)
    row = VerdictRow(check_key(by.key_digest, data), data, by.name, by.version, 0, said)
    ref = {"name": made.name, "labels": labels} | {n: one.digest for n, one in files.items()}
    facts = {
        "labels": labels, "trained": labels, "speaks": None if is_shadow else ref,
        "shadow": ref if is_shadow else None, "reviews": {},
    }  # fmt: skip
    ledger.append(Block(KIND, campaign, verdicts=[row], facts=facts))
    return ref


class InThisProcess:
    """What a look needs of a pool of workers, without a process."""

    sizes: ClassVar[list[int]] = []
    """How many candidates came together, batch by batch."""

    def __init__(self, *_: object, **__: object) -> None:
        """Begin anew."""
        self.sizes.clear()

    def verify(self, by: Verifier, candidates: Sequence[Candidate]) -> Future[SimpleNamespace]:
        self.sizes.append(len(candidates))
        answer = Future[SimpleNamespace]()
        answer.set_result(SimpleNamespace(verdicts=by.judge(candidates)))
        return answer

    def close(self) -> None:
        """Have nothing to kill."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Have nothing to end."""


class Quick(Training):
    """A training without torch, which finds what `model()` says."""

    begun: ClassVar[list[Path]] = []
    """Files that it makes one after the other: at the first it hangs, at the next it is killed."""

    def __init__(self, of: Surrogate) -> None:
        """Travel with what its class knows here."""
        super().__init__(of)
        self._begun = list(self.begun)

    def setup(self) -> None:
        """Need nothing."""

    def verify(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        place = next((n for n, file in enumerate(self._begun) if not file.exists()), None)
        if place is not None:
            self._begun[place].touch()
            if place:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()
        files = {WEIGHTS: model().written()}
        return [Verdict.accept(artifacts=files) for _ in candidates]
