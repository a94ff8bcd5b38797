"""Drawings of what models wrote, made in a process that may crash, as RDKit does on some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from xml.etree import ElementTree as ET

from markupsafe import Markup

from verifier_ladder.candidate import Candidate
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.pool import WorkerPool

WIDTH, HEIGHT = 170, 108
LONGEST = 400
"""Characters of a SMILES that is drawn; longer ones would be an unreadable tangle."""


_SIZE = re.compile(r"[-+0-9. ,]{1,60}")
_PATH = re.compile(r"[MLHVCSQTAZmlhvcsqtaz0-9eE+\-., ]{1,20000}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,6}(?:\.[0-9]{1,6})?")
_COLOUR = re.compile(r"(fill|stroke):(#[0-9A-Fa-f]{6}|none)")
_WIDTH = re.compile(r"stroke-width:([0-9.]{1,6})(?:px)?")
_CLASSES = {
    "#000000": "k", "#0000FF": "n", "#3333FF": "n", "#FF0000": "o", "#33CCCC": "f", "#00CC00": "l",
    "#7F4C19": "l", "#CCCC00": "s", "#FF7F00": "p", "#A01EEF": "l", "none": "x", "#FFFFFF": "x",
}  # fmt: skip
LARGEST = 200_000
_KEPT = 2_000
"""Drawings that are remembered."""
_KEPT_READ = 64
"""Answers of each reader that are remembered: a structure may have a megabyte."""


def sanitise(drawing: str, title: str) -> Markup | None:
    """Rebuild a drawing from its paths and ellipses; everything else is dropped.

    Colours become classes, so that the drawing follows the page's light and dark themes.

    Args:
        drawing: SVG as text, believed hostile.
        title: What it shows, for those who can't see it.

    Returns:
        Safe SVG, or None if the drawing is not one.
    """
    if len(drawing) > LARGEST or "<!DOCTYPE" in drawing or "<!ENTITY" in drawing:
        return None  # No entities: they could expand without bound.
    try:
        root = ET.fromstring(drawing)  # noqa: S314 - without a DTD there is nothing to expand
    except ET.ParseError:
        return None
    box = root.get("viewBox", "")
    if root.tag.rpartition("}")[2] != "svg" or not _SIZE.fullmatch(box):
        return None
    marks = [mark for mark in map(_mark, root.iter()) if mark is not None]
    return Markup(
        '<svg class="molecule" viewBox="{}" role="img" aria-label="{}">{}</svg>'
    ).format(box, title, Markup().join(marks)) if marks else None  # fmt: skip


def _mark(element: ET.Element) -> Markup | None:
    name = str(element.tag).rpartition("}")[2]  # A comment's tag is a function.
    style = f"{element.get('style', '')};fill:{element.get('fill', '')}"
    if name == "path":
        path = " ".join(element.get("d", "").split())
        if _PATH.fullmatch(path):
            return _drawn(Markup('<path class="{}" {}d="{}"/>'), style, path)
    if name == "ellipse":
        places = [element.get(key, "") for key in ("cx", "cy", "rx", "ry")]
        if all(map(_NUMBER.fullmatch, places)):
            return _drawn(
                Markup('<ellipse class="{}" {}cx="{}" cy="{}" rx="{}" ry="{}"/>'), style, *places
            )
    return None


def _drawn(form: Markup, style: str, *values: str) -> Markup:
    colours = {key: value.upper() if value != "none" else value
               for key, value in reversed(_COLOUR.findall(style))}  # fmt: skip
    names = [f"{key[0]}{_CLASSES.get(value, 'k')}" for key, value in sorted(colours.items())]
    width = _WIDTH.search(style)
    thick = Markup('stroke-width="{}" ').format(width[1]) if width else Markup()
    return form.format(" ".join(names), thick, *values)


class MoleculeDrawing(Verifier):
    """Draws molecules as SVG, in the worker pool, so that a crash costs one picture only."""

    name, version, kind = "molecule-drawing", "1", "molecule"
    timeout = 5.0
    batch_size = 1
    memory = 2**30

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Draw a batch; a molecule that RDKit can't read gets an abstention."""
        return [self._draw(str(candidate.content)) for candidate in candidates]

    @staticmethod
    def _draw(smiles: str) -> Verdict:
        from rdkit import Chem, rdBase
        from rdkit.Chem.Draw import rdMolDraw2D

        rdBase.DisableLog("rdApp.*")
        molecule: Any = Chem.MolFromSmiles(smiles)
        if molecule is None:
            return Verdict.abstain("RDKit can't read it")
        canvas: Any = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
        options: Any = canvas.drawOptions()
        options.clearBackground = False
        options.padding = 0.06
        options.fixedBondLength = 28.0
        rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule)
        canvas.FinishDrawing()
        return Verdict.accept(evidence={"svg": canvas.GetDrawingText()})


def draw(smiles: Sequence[str]) -> dict[str, Markup]:
    """Draw molecules; those that can't be drawn are missing from the result.

    Args:
        smiles: Canonical SMILES of accepted candidates.

    Returns:
        Sanitised SVG by SMILES. Empty if RDKit or its system libraries are missing.
    """
    with Drawings() as drawings:
        return drawings.of(smiles).made


class Drawn(NamedTuple):
    """Drawings that were asked for, as far as they are made."""

    made: dict[str, Markup]
    """By SMILES; what can't be drawn is missing."""
    are_all: bool
    """Whether no more are to come."""


class Drawings:
    """Has hostile texts read and drawn in a process of its own, and remembers the newest answers.

    A text that brings its reader down, or that takes too long, costs its own picture only.

    **Threads** may share it.
    """

    def __init__(self) -> None:
        """Start nothing yet: the process starts with the first drawing."""
        self._pool: WorkerPool | None = None
        self._molecules = MoleculeDrawing()
        self._answers: dict[str, dict[str, Future[Any]]] = {}
        self._lock = Lock()

    def of(self, smiles: Sequence[str], wait: float | None = None) -> Drawn:
        """Draw molecules.

        Args:
            smiles: Canonical SMILES of accepted candidates.
            wait: Seconds to wait for those that are not drawn yet; None for as long as it takes.
        """
        wanted = [text for text in dict.fromkeys(smiles) if 0 < len(text) <= LONGEST]
        if not wanted or not _can_draw():
            return Drawn({}, are_all=True)
        with self._lock:
            answers = {text: self._answer(self._molecules, text, _KEPT) for text in wanted}
        _, late = futures.wait(answers.values(), wait)
        done = {text: answer for text, answer in answers.items() if answer.done()}
        drawn = {text: _safe(text, answer) for text, answer in done.items()}
        return Drawn({t: safe for t, safe in drawn.items() if safe is not None}, are_all=not late)

    def ask(self, reader: Verifier, text: str, wait: float | None = None) -> Verdict | None:
        """What a verifier reads out of a text, in the same process.

        What it answers is believed as little as the text is: whoever asks looks at each part.

        Args:
            reader: Answers are remembered by its name.
            text: The text.
            wait: Seconds to wait; None for as long as it takes.

        Returns:
            Its verdict; an abstention if it failed, and None if it is still at work.
        """
        with self._lock:
            answer = self._answer(reader, text, _KEPT_READ)
        futures.wait([answer], wait)
        if not answer.done():
            return None
        if answer.cancelled() or answer.exception() is not None:
            return Verdict.abstain("it can't be read", failed_at="engine")
        found: Verdict = answer.result().verdicts[0]
        return found

    def _answer(self, reader: Verifier, text: str, kept: int) -> Future[Any]:
        from verifier_ladder.scheduler.engines.pool import WorkerPool

        known = self._answers.setdefault(reader.name, {})
        answer = known.pop(text, None)
        if answer is None:
            self._pool = self._pool or WorkerPool(1, name="drawings")
            answer = self._pool.verify(reader, [Candidate(reader.kind, text)])
        known[text] = answer
        while len(known) > kept:
            known.pop(next(iter(known)))
        return answer

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.close()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _safe(text: str, answer: Future[Any]) -> Markup | None:
    if answer.cancelled() or answer.exception() is not None:
        return None
    verdict = answer.result().verdicts[0]
    return sanitise(str(verdict.evidence.get("svg", "")), f"Structure of {text}")


def _can_draw() -> bool:
    from importlib.util import find_spec

    return find_spec("rdkit") is not None
