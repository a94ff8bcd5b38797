"""Drawings of crystals: their cell and their atoms, to scale, from numbers and symbols alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from verifier_ladder.errors import CandidateError, ToolError

if TYPE_CHECKING:
    from verifier_ladder.tiers.fast.crystalfile import Crystal

WIDTH, HEIGHT = 170.0, 108.0
MOST_ATOMS = 60
"""Of a cell that is drawn; more would be an unreadable heap."""
_MARGIN, _SIZE = 6.0, 0.45
"""Pixels around a drawing; radii as a part of covalent ones, so that atoms behind are seen."""
_FACE = 1e-3
"""How close to a face of the cell, as a part of its vectors, an atom counts as standing on it."""
_COLOURS = 6
_VIEW = np.array([[0.9063, -0.1306, 0.4019], [0.4226, 0.2801, -0.8619], [0.0, 0.9511, 0.309]])
"""How far each axis goes to the right, up, and to the reader: seen from above, a little turned."""


class Drawn(NamedTuple):
    """A crystal as it is shown."""

    drawing: Markup
    name: str


class Ball(NamedTuple):
    """An atom in a picture; pixels."""

    symbol: str
    x: float
    y: float
    radius: float
    colour: int


def circle(ball: Ball) -> Markup:
    """An atom as a circle, with its symbol for whoever points at it."""
    return Markup(
        '<circle class="atom a{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>'
    ).format(
        ball.colour % _COLOURS, *(round(value, 1) for value in (ball.x, ball.y, ball.radius)),
        ball.symbol,
    )  # fmt: skip


def draw_crystals(texts: Iterable[str]) -> dict[str, Drawn]:
    """Draw crystals; those that can't be drawn are missing from the result.

    Args:
        texts: Canonical forms of accepted candidates.

    Returns:
        Drawing and name by text. Empty if the library of elements is missing.
    """
    drawings = {}
    for text in dict.fromkeys(texts):
        found = _drawn(text)
        if found is not None:
            drawings[text] = found
    return drawings


def _drawn(text: str) -> Drawn | None:
    from verifier_ladder.tiers.fast.crystal import crystal_of

    try:
        crystal = crystal_of(text, MOST_ATOMS)
    except (CandidateError, ToolError):
        return None
    atoms = len(crystal.symbols)
    name = f"{crystal.formula}, {atoms} in a cell, {crystal.volume / atoms:.1f} Å³ each"
    return Drawn(draw_crystal(crystal), name)


def draw_crystal(crystal: Crystal) -> Markup:
    """A crystal's cell with its atoms, those on its faces at all of them, seen from a corner."""
    atoms = [(n, place) for n, at in enumerate(crystal.places) for place in images(at)]
    points = np.array([place for _, place in atoms]) @ crystal.lattice @ _VIEW
    corners = np.array(list(product((0.0, 1.0), repeat=3)))
    cell = corners @ crystal.lattice @ _VIEW
    sizes = _SIZE * _radii([crystal.symbols[n] for n, _ in atoms])
    fit = _Fit(np.vstack([points, cell]), float(sizes.max()))
    kinds = sorted(set(crystal.symbols))
    balls = [
        Ball(crystal.symbols[n], *fit(points[i]), fit.scale * sizes[i],
             kinds.index(crystal.symbols[n]))
        for i, (n, _) in sorted(enumerate(atoms), key=lambda each: float(points[each[0]][2]))
    ]  # fmt: skip
    title = f"{crystal.formula}, {len(crystal.symbols)} atoms in a cell"
    return Markup(
        '<svg class="crystal" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<title>{}</title>{}{}</svg>'
    ).format(
        WIDTH, HEIGHT, title, title, Markup().join(_edges(corners, cell, fit)),
        Markup().join(map(circle, balls)),
    )  # fmt: skip


def _radii(symbols: Sequence[str]) -> Any:
    from ase.data import atomic_numbers, covalent_radii

    return covalent_radii[[atomic_numbers[symbol] for symbol in symbols]]


def images(place: Any) -> Iterator[Any]:
    """A place in the cell, and the same on the opposite faces if it stands on one."""
    inside = np.where(np.abs(place - np.rint(place)) < _FACE, 0.0, place % 1.0)
    return (
        inside + np.array(step)
        for step in product((0.0, 1.0), repeat=3)
        if all(x < _FACE for x, is_far in zip(inside, step, strict=True) if is_far)
    )


class _Fit:
    """From Å to the picture, as large as it has room for."""

    def __init__(self, points: Any, radius: float) -> None:
        low, high = points[:, :2].min(axis=0) - radius, points[:, :2].max(axis=0) + radius
        room = np.array([WIDTH, HEIGHT]) - 2 * _MARGIN
        self.scale = float((room / (high - low)).min())
        self._middle = (low + high) / 2

    def __call__(self, point: Any) -> tuple[float, float]:
        x, y = (point[:2] - self._middle) * self.scale
        return float(WIDTH / 2 + x), float(HEIGHT / 2 - y)


def _edges(corners: Any, cell: Any, fit: _Fit) -> Iterator[Markup]:
    for one, first in enumerate(corners):
        for other in range(one + 1, len(corners)):
            if np.abs(first - corners[other]).sum() == 1.0:
                ends = (*fit(cell[one]), *fit(cell[other]))
                yield Markup('<line class="edge" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
                    *(round(value, 1) for value in ends)
                )
