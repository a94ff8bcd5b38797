"""Tiles: a log's hashes in pieces of 256, as C2SP tlog-tiles cuts them.

The tile of level 0 and index n holds the hashes of the leaves 256 n to 256 n + 255; one of level
L + 1 holds the roots of 256 tiles of level L. A full tile never changes. The last of a level may
be partial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from verifier_ladder.ledger.offline import WIDTH, Frontier, tile_path
from verifier_ladder.ledger.tree import reduced

HASH = 32
_HEIGHT = 8
_KEPT = 1024
"""Tiles kept while proofs are made; 8 MiB."""


class Tile(NamedTuple):
    """The place of a tile."""

    level: int
    number: int
    """Its place in its level."""
    width: int = WIDTH
    """How many hashes it holds."""

    @property
    def is_full(self) -> bool:
        """Whether it will stay as it is."""
        return self.width == WIDTH

    @property
    def path(self) -> str:
        """Where it lies in an export."""
        return tile_path(self.level, self.number, self.width)


def tiles_of(size: int) -> Iterator[Tile]:
    """All tiles of a log of this size, level by level.

    Example:
        >>> [tile.path for tile in tiles_of(513)]
        ['tile/0/000', 'tile/0/001', 'tile/0/002.p/1', 'tile/1/000.p/2']
    """
    level, hashes = 0, size
    while hashes:
        full, rest = divmod(hashes, WIDTH)
        for index in range(full):
            yield Tile(level, index)
        if rest:
            yield Tile(level, full, rest)
        level, hashes = level + 1, full


def hashes_of(data: bytes) -> list[bytes]:
    """The hashes of a tile."""
    return [data[at : at + HASH] for at in range(0, len(data), HASH)]


class Tiles:
    """A log's tiles for one size: the hash of every complete subtree."""

    def __init__(self, size: int, read: Callable[[Tile], bytes]) -> None:
        """Look at the log as it was at this size.

        Args:
            size: How many leaves.
            read: Gives the hashes of a full tile, or of a partial one of level 0.
        """
        self.size = size
        self._read = read
        self._kept = lru_cache(_KEPT)(self._hashes)

    def data(self, tile: Tile) -> bytes:
        """The hashes of a tile, full or partial, one after the other."""
        return b"".join(self._kept(tile))

    def _hashes(self, tile: Tile) -> list[bytes]:
        if tile.is_full or tile.level == 0:
            return hashes_of(self._read(tile))
        first = tile.number * WIDTH
        return [
            reduced(hashes_of(self._read(Tile(tile.level - 1, first + at))))
            for at in range(tile.width)
        ]

    def node(self, level: int, index: int) -> bytes:
        """Hash of a complete subtree, as `tree.Node`."""
        row, rest = divmod(level, _HEIGHT)
        first = index << rest
        place = first // WIDTH
        width = min(WIDTH, (self.size >> _HEIGHT * row) - place * WIDTH)
        hashes = self._kept(Tile(row, place, width))
        return reduced(hashes[first % WIDTH : first % WIDTH + (1 << rest)])


class Edge:
    """Where a log grows: takes leaves, gives the tiles that they fill."""

    def __init__(self, frontier: Frontier, open_leaves: Sequence[bytes]) -> None:
        """Go on behind a frontier.

        Args:
            frontier: That of the log so far.
            open_leaves: The hashes of the partial tile of level 0.
        """
        self.frontier = frontier
        self._open = list(open_leaves)

    def append(self, leaf: bytes) -> Iterator[tuple[Tile, bytes]]:
        """Add one leaf; a tile of level 0 that is full now comes out with its hashes."""
        self.frontier.append(leaf)
        self._open.append(leaf)
        if len(self._open) == WIDTH:
            yield Tile(0, self.frontier.size // WIDTH - 1), b"".join(self._open)
            self._open.clear()


def completed(tile: Tile) -> Iterator[Tile]:
    """The tiles above a full tile that are full because of it, lowest first."""
    while tile.number % WIDTH == WIDTH - 1:
        tile = Tile(tile.level + 1, tile.number // WIDTH)
        yield tile
