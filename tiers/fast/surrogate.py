"""The verifier `surrogate`: what a small ensemble has learnt of the top tier's own verdicts.

It is trained by the campaign that it belongs to (`verifier_ladder.scheduler.surrogates`): on what
the top tier has said, in worker processes, and again at each doubling. Each training makes a
version. A version speaks only while it beats what is believed without it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from math import hypot
from typing import Any, Final, Self

import numpy as np

from verifier_ladder.arguments import checked
from verifier_ladder.arrays import Floats, NDArray
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import AnswerError, CandidateError, ConfigError, ToolError
from verifier_ladder.keys import content_key
from verifier_ladder.tags import domain_of
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.descriptors import (
    Descriptors,
    checked_numbers,
    descriptors_of,
    family_key,
    named,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

MEMBERS: Final = 8
WIDTH: Final = 32
"""Networks of an ensemble, and units of each one's only hidden layer."""
_ROUNDS, _RATE, _DECAY = 300, 0.005, 0.01
_FAR: Final = 3.0
"""A descriptor counts for no more than so many deviations of those that were trained on."""
_CHANCE: Final = 2.0
"""Correlations below so many standard errors count for nothing."""
_NEVER: Final = 1e30
"""Stands for the deviation of a descriptor that never differed."""
_LITTLE: Final = 1e-9
"""What differs by less does so by rounding."""
_LEAST: Final = 32
NAMED: Final = 12
"""Characters of a version's name that are shown."""
WEIGHTS, TRAINED = "weights.npy", "trained.npy"
"""Artifacts of a training's verdict: the weights, and which candidates it was trained on."""
UNTRAINED = "no version of it has been trained yet"
ASIDE = "no version of it beats what is believed without it"
KNOWN = "it was trained on this candidate"


@dataclass(frozen=True, slots=True)
class Model:
    """One version of a surrogate.

    What it says lies within a deviation of what it was trained on, and no descriptor counts for
    more than three deviations of those: search drives candidates to where nothing was learnt.
    """

    name: str
    """Digest of the labels that it was trained on and of the settings."""
    labels: int
    """How many labels it was trained for; some of them were held out."""
    noise: float
    """Root mean square error on candidates that a member was not trained on."""
    centre: Floats
    spread: Floats
    """Of each descriptor among those that were trained on."""
    low: float
    high: float
    """The least and most that it says."""
    layers: tuple[Floats, Floats, Floats, Floats]
    """Weights and biases of both layers of all members."""
    trained: frozenset[int]
    """The first eight bytes of the content keys of what it was trained on."""

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and spread of the members. Takes shape (n, descriptors), gives shape (n,)."""
        first, offset, second, end = self.layers
        scaled = np.clip((inputs - self.centre) / self.spread, -_FAR, _FAR)
        hidden = np.maximum(np.einsum("nd,mdh->mnh", scaled, first) + offset[:, None, :], 0.0)
        said = np.einsum("mnh,mh->mn", hidden, second) + end[:, None]
        said = np.clip(said, self.low, self.high)
        return said.mean(axis=0), said.std(axis=0)

    def knows(self, key: bytes) -> bool:
        """Whether it was trained on a candidate, by its content key."""
        return _short(key) in self.trained

    @classmethod
    def read(cls, name: str, weights: bytes, trained: bytes) -> Model:
        """Read a version from its artifacts; nothing of them is ever executed.

        Raises:
            ValueError: If they are none.
        """
        flat = _array(weights, np.float32).astype(float)
        inputs, labels, noise, low, high, *_ = flat.tolist()
        sizes = _sizes(int(inputs))
        ends = np.cumsum([_HEAD, *map(np.prod, sizes)])
        if ends[-1] != len(flat) or not np.isfinite(flat).all():
            raise ValueError("these are not the weights of a surrogate")
        centre, spread, *layers = (
            flat[begin:end].reshape(size)
            for begin, end, size in zip(ends[:-1], ends[1:], sizes, strict=True)
        )
        known = frozenset(_array(trained, np.uint64).tolist())
        first, offset, second, end = layers
        layers_ = first, offset, second, end
        return cls(name, int(labels), noise, centre, spread, low, high, layers_, known)

    def written(self) -> bytes:
        """Its weights, as `read` takes them."""
        head = [len(self.centre), self.labels, self.noise, self.low, self.high]
        parts = [np.array(head), self.centre, self.spread, *self.layers]
        return _bytes(np.concatenate([part.ravel() for part in parts]).astype(np.float32))


_HEAD = 5
_HEADER = 128
"""Bytes before the numbers of a file of NumPy's."""


def _sizes(inputs: int) -> list[tuple[int, ...]]:
    """Shapes of all that stands behind a model's first numbers."""
    return [
        (inputs,), (inputs,), (MEMBERS, inputs, WIDTH), (MEMBERS, WIDTH), (MEMBERS, WIDTH),
        (MEMBERS,),
    ]  # fmt: skip


def _array(data: bytes, kind: type) -> NDArray[Any]:
    """Read what `_bytes` has written, and nothing else.

    NumPy's reader opens archives too, and takes as much memory as a header claims.
    """
    found: NDArray[Any] = np.frombuffer(data[_HEADER:], kind)
    if _bytes(found) != data:
        raise ValueError(f"a plain array of {kind.__name__} was expected, no pickle or archive")
    return found


def _bytes(values: NDArray[Any]) -> bytes:
    written = io.BytesIO()
    np.save(written, values, allow_pickle=False)
    return written.getvalue()


def _short(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def trained_bytes(keys: Sequence[bytes]) -> bytes:
    """Which candidates are trained on, as `Model.read` takes it."""
    return _bytes(np.array(sorted(map(_short, keys)), dtype=np.uint64))


class Surrogate(SingleVerifier):
    """Says what the top tier would say, as an ensemble has learnt it from that tier's verdicts.

    A ladder holds it like any other verifier, as the only scoring one of its fast tier. At 64
    labels, and again at 128, 256 and so on, the campaign trains a version of it in the background.
    A version is in shadow at first: what it would say is in the evidence. It speaks once it beats
    what is believed without it, on labels that were drawn at random and that no version is ever
    trained on; and it steps aside when it no longer does. Until then the verdict is an abstention,
    and the ladder climbs as if it had no surrogate.

    The score's uncertainty is the spread of the ensemble together with the error that its members
    made on what they were not trained on.

    **Limits.** It reads content alone: what a top tier says of the same content under another task
    is no label. It never rejects.

    Example:
        >>> Surrogate().judge([Candidate("molecule", "CCO")])[0].reason
        'no version of it has been trained yet'
    """

    name = "surrogate"
    version = "1"
    tier = Tier.FAST
    capabilities = ("reasoning",)
    same_quantity = True
    cost = Cost(seconds=1e-3)
    timeout = 10.0

    @checked()
    def __init__(
        self,
        *,
        kind: str = "molecule",
        descriptors: Descriptors | str = "",
        first: int = 64,
        held_out: float = 0.25,
        unit: str = "",
    ) -> None:
        """Choose what it reads and when it is trained.

        Args:
            kind: What candidates it is about.
            descriptors: What describes them, or its entry point of group
                `verifier_ladder.descriptors`; by default that of the kind.
            first: Labels from which it is trained; then at each doubling. At least 32.
            held_out: Share of the families of candidates that no version is ever trained on, from
                0.1 to 0.5.
            unit: The target's unit.

        Raises:
            ConfigError: If there are no such descriptors, or a number makes no sense.
        """
        if first < _LEAST or not 0.1 <= held_out <= 0.5:  # noqa: PLR2004 - as the text says
            raise ConfigError(
                f"surrogate with first={first!r}, held_out={held_out!r}: give at least 32 labels, "
                "and a share from 0.1 to 0.5"
            )
        self.kind, self.unit, self.domain = kind, unit, domain_of(kind)
        self.descriptors = descriptors_of(kind, descriptors)
        self.first, self.held_out = first, held_out
        if kind == "molecule":
            self.control = Candidate("molecule", "CCO")
            self.tools = versions("rdkit")
        super().__init__(
            kind=kind, descriptors=named(descriptors), described=self.descriptors.version,
            first=first, held_out=held_out, unit=unit,
        )  # fmt: skip
        self.speaks: Model | None = None
        self.shadow: Model | None = None
        self._earlier: tuple[bytes, ...] = ()
        self._recorded = {"version": self.version, "digest": self.digest.hex()}

    def at(self, speaks: Model | None, shadow: Model | None, earlier: Sequence[Self] = ()) -> Self:
        """The same surrogate at another version, under which its verdicts are filed.

        Args:
            speaks: What it says.
            shadow: What is told in evidence only.
            earlier: As which its campaign has had it before, the newest first.
        """
        made = copy(self)
        made.speaks, made.shadow = speaks, shadow
        made.version = self._recorded["version"]
        made.version += f"+{speaks.name[:NAMED]}" if speaks else ""
        made.version += f"~{shadow.name[:NAMED]}" if shadow else ""
        for name in ("digest", "key_digest"):
            made.__dict__.pop(name, None)
        own = made.key_digest
        digests = (each.key_digest for each in earlier)
        made._earlier = tuple(  # noqa: SLF001 - its own class
            dict.fromkeys(each for each in digests if each != own)
        )
        return made

    @property
    def earlier(self) -> Sequence[bytes]:
        """See `Verifier.earlier`."""
        return self._earlier

    def as_json(self) -> dict[str, Any]:
        """What the ledger records of it: the same, whichever version speaks."""
        return {**super().as_json(), **self._recorded}

    def due(self, labels: int, trained: int) -> int:
        """For how many labels a version is to be trained next; 0 if for none yet.

        Args:
            labels: How many there are.
            trained: For how many one was trained before; 0 for none.

        Example:
            >>> Surrogate(first=64).due(300, 64), Surrogate(first=64).due(300, 256)
            (256, 0)
        """
        found = 0
        wanted = self.first
        while wanted <= labels:
            found, wanted = wanted, 2 * wanted
        return found if found > trained else 0

    def is_held_out(self, family: str) -> bool:
        """Whether a family of candidates is never trained on; the same for ever."""
        return int(family[:16], 16) / 2.0**64 < self.held_out

    def examine(self, candidate: Candidate) -> Verdict:
        """Say what the version that speaks has learnt."""
        if self.speaks is None and self.shadow is None:
            return Verdict.abstain(UNTRAINED)
        try:
            numbers = checked_numbers(self.descriptors, candidate.content)
        except CandidateError as error:
            return Verdict.abstain(f"it can't be described: {error}")
        key, inputs = content_key(candidate.kind, candidate.content), np.array([numbers])
        beside = self._beside(self.shadow, key, inputs)
        evidence = {"shadow": beside} if beside else {}
        if self.speaks is None:
            return Verdict.abstain(ASIDE, evidence=evidence)
        said = self._beside(self.speaks, key, inputs)
        if not said:
            return Verdict.abstain(KNOWN, evidence=evidence)
        return Verdict.accept(
            said.pop("score"), uncertainty=said.pop("uncertainty"), unit=self.unit,
            evidence={**said, **evidence},
        )  # fmt: skip

    def _beside(self, model: Model | None, key: bytes, inputs: Floats) -> dict[str, Any]:
        """What a version says of a candidate; nothing of one that it was trained on."""
        if model is None or model.knows(key):
            return {}
        (mean,), (spread,) = model.predict(inputs)
        return {
            "version": model.name[:NAMED], "labels": model.labels, "score": float(mean),
            "uncertainty": hypot(spread, model.noise), "spread": float(spread),
        }  # fmt: skip


class Description(SingleVerifier):
    """Describes candidates for a training, in a worker: what it parses is hostile."""

    name = "surrogate-description"
    version = "1"
    tier = Tier.FAST
    timeout = 10.0

    def __init__(self, surrogate: Surrogate) -> None:
        """Describe as a surrogate reads."""
        self.kind, self.control = surrogate.kind, surrogate.control
        self._by = surrogate.descriptors
        super().__init__(of=surrogate.settings)

    def examine(self, candidate: Candidate) -> Verdict:
        """Say its numbers, and its family's digest."""
        numbers = np.array(checked_numbers(self._by, candidate.content), dtype=np.float32)
        family = family_key(self._by, candidate.content)
        return Verdict.accept(evidence={"numbers": numbers.tobytes().hex(), "family": family})

    @staticmethod
    def read(verdict: Verdict) -> tuple[Floats, str] | None:
        """Numbers and family; None where a candidate could not be described."""
        said = verdict.evidence
        if "numbers" not in said:
            return None
        return np.frombuffer(bytes.fromhex(said["numbers"]), np.float32).astype(float), said[
            "family"
        ]


DATA: Final = "surrogate-data"
"""Kind of what `Training` judges."""


class Training(Verifier):
    """Trains a version, in a worker that can be killed; its verdict holds the weights.

    The same data give the same weights on the same machine.
    """

    name = "surrogate-training"
    version = "1"
    tier = Tier.FAST
    kind = DATA
    cost = Cost(seconds=5.0)
    timeout = 1800.0
    batch_size = 1

    def __init__(self, surrogate: Surrogate) -> None:
        """Train what a surrogate's descriptors have described."""
        super().__init__(
            of=surrogate.settings, members=MEMBERS, width=WIDTH, rounds=_ROUNDS, rate=_RATE,
            decay=_DECAY,
        )  # fmt: skip
        self.tools = {**surrogate.tools, **versions("torch")}

    def setup(self) -> None:
        """Import torch.

        Raises:
            ToolError: If it is not installed.
        """
        _torch()

    def verify(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Train on each."""
        return [self._trained(candidate.content) for candidate in candidates]

    def _trained(self, data: str | bytes) -> Verdict:
        if not isinstance(data, bytes):
            raise AnswerError("a training takes the bytes of an array")
        table = np.load(io.BytesIO(data), allow_pickle=False)
        model = fit(table[:, 1:], table[:, 0], len(table))
        files = {WEIGHTS: model.written()}
        return Verdict.accept(evidence={"noise": model.noise}, artifacts=files)


def training_data(inputs: Floats, targets: Floats) -> bytes:
    """What `Training` judges: a row for each candidate, its label first."""
    written = io.BytesIO()
    np.save(written, np.column_stack([targets, inputs]), allow_pickle=False)
    return written.getvalue()


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ToolError(
            f"a surrogate is trained with torch ({error}): pip install '.[ensemble]' in a clone"
        ) from error
    torch.set_num_threads(1)
    return torch


def fit(inputs: Floats, targets: Floats, labels: int) -> Model:
    """Train an ensemble: each member on a resample of its own (Breiman, *Bagging*, 1996).

    Args:
        inputs: Descriptors. Shape (n, descriptors).
        targets: Labels. Shape (n,).
        labels: What `Model.labels` is to be.
    """
    torch = _torch()
    centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread = np.where(spread > 0.0, spread, _NEVER)
    middle, scale = float(targets.mean()), float(targets.std()) or 1.0
    rows = np.clip((inputs - centre) / spread, -_FAR, _FAR)
    truth = (targets - middle) / scale
    weight = worth(rows, truth)
    parts, unseen = _descended(torch, rows * weight, truth)
    with torch.no_grad():
        errors = (_said(torch, parts, torch.from_numpy(rows * weight)).numpy() - truth) ** 2
    noise = scale * float(np.sqrt(errors[unseen].mean())) if unseen.any() else scale
    first, offset, second, end = (part.detach().numpy() for part in parts)
    return Model(
        "", labels, noise, centre, spread, float(targets.min()) - scale,
        float(targets.max()) + scale,
        (weight[:, None] * first, offset, scale * second, scale * end + middle), frozenset(),
    )  # fmt: skip


def worth(rows: Floats, truth: Floats) -> Floats:
    """What each descriptor counts for: by how much its correlation exceeds what chance gives.

    Most of some hundred descriptors are noise, and all alike they drown the rest. How far one is
    from its middle may matter, whichever way: that is invisible to its own correlation.

    Args:
        rows: Descriptors, in deviations from their means. Shape (n, descriptors).
        truth: Labels, likewise. Shape (n,).
    """
    apart = np.abs(rows)
    spread = apart.std(axis=0)
    apart = (apart - apart.mean(axis=0)) / np.where(spread > _LITTLE, spread, _NEVER)
    found = np.maximum(np.abs(rows.T @ truth), np.abs(apart.T @ truth)) / len(truth)
    kept = np.maximum(found - _CHANCE / np.sqrt(len(truth)), 0.0)
    kept = kept if kept.any() else np.ones(len(found))
    return np.asarray(_FAR * kept / np.sqrt((kept**2).sum()))


def _descended(torch: Any, rows: Floats, truth: Floats) -> tuple[list[Any], NDArray[np.bool_]]:
    """Weights of all members, and which rows each was not trained on. Shape (members, n)."""
    generator = torch.Generator().manual_seed(0)
    shapes = _sizes(rows.shape[1])[2:]
    scales = (1.0 / _FAR, 0.0, WIDTH**-0.5, 0.0)
    parts = [
        (size * torch.randn(shape, generator=generator, dtype=torch.double)).requires_grad_()
        for shape, size in zip(shapes, scales, strict=True)
    ]
    inputs, targets = torch.from_numpy(rows), torch.from_numpy(truth)
    often = torch.poisson(torch.ones(MEMBERS, len(truth), dtype=torch.double), generator=generator)
    optimiser = torch.optim.AdamW(parts, lr=_RATE, weight_decay=_DECAY)
    for _ in range(_ROUNDS):
        optimiser.zero_grad()
        (often * (_said(torch, parts, inputs) - targets) ** 2).mean().backward()
        optimiser.step()
    return parts, np.asarray(often.numpy() == 0.0)


def _said(torch: Any, parts: Sequence[Any], rows: Any) -> Any:
    """What each member says of each row, in deviations of the target. Shape (members, n)."""
    first, offset, second, end = parts
    hidden = torch.relu(rows @ first + offset[:, None, :])
    return (hidden * second[:, None, :]).sum(dim=-1) + end[:, None]
