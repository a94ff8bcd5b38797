"""Tiles cut a log as C2SP tlog-tiles tells, and give the hash of every complete subtree."""

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.offline import (
    WIDTH,
    Frontier,
    leaf_hash,
    node_hash,
    root_of,
    tile_path,
)
from verifier_ladder.ledger.tiles import Edge, Tile, Tiles, completed, hashes_of, tiles_of
from verifier_ladder.ledger.tree import inclusion, reduced

LEAVES = [leaf_hash(str(n).encode()) for n in range(66_500)]
"""More than one full tile of level 1."""
LEVELS = [LEAVES]
while len(LEVELS[-1]) > 1:
    LEVELS.append(
        [node_hash(*pair) for pair in zip(LEVELS[-1][::2], LEVELS[-1][1::2], strict=False)]
    )
FULL = {
    Tile(0, index): b"".join(LEAVES[index * WIDTH : (index + 1) * WIDTH])
    for index in range(len(LEAVES) // WIDTH)
}
FULL[Tile(1, 0)] = b"".join(reduced(hashes_of(FULL[Tile(0, index)])) for index in range(WIDTH))


def node(level: int, index: int) -> bytes:
    return LEVELS[level][index]


def read(tile: Tile) -> bytes:
    first = tile.number * WIDTH
    return FULL[tile] if tile.is_full else b"".join(LEAVES[first : first + tile.width])


def test_paths_are_those_of_the_specification() -> None:
    assert "tile/0/x001/x234/067.p/5" == tile_path(0, 1_234_067, 5)
    assert "tile/entries/000" == tile_path("entries", 0)
    assert "tile/3/x001/000" == tile_path(3, 1000)


@given(st.integers(0, 300_000))
def test_tiles_hold_every_hash_once(size: int) -> None:
    tiles = list(tiles_of(size))

    for level in {tile.level for tile in tiles}:
        widths = [tile.width for tile in tiles if tile.level == level]
        assert size >> (8 * level) == sum(widths)
        assert all(width == WIDTH for width in widths[:-1])


@given(st.data())
def test_nodes_are_those_of_the_whole_tree(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(LEAVES)))
    level = data.draw(st.integers(0, size.bit_length() - 1))
    index = data.draw(st.integers(0, (size >> level) - 1))

    assert node(level, index) == Tiles(size, read).node(level, index)


@given(st.data())
def test_proofs_are_made_from_tiles(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(LEAVES)))
    index = data.draw(st.integers(0, size - 1))

    expected = inclusion(node, index, size)
    assert expected == inclusion(Tiles(size, read).node, index, size)


def test_a_partial_tile_above_level_0_holds_the_roots_of_those_below() -> None:
    tiles = Tiles(3 * WIDTH + 7, read)

    expected = [reduced(hashes_of(FULL[Tile(0, index)])) for index in range(3)]
    assert b"".join(expected) == tiles.data(Tile(1, 0, 3))


@given(st.integers(0, 700), st.integers(0, 700))
def test_an_edge_gives_each_full_tile_once(before: int, more: int) -> None:
    frontier = Frontier()
    for leaf in LEAVES[:before]:
        frontier.append(leaf)
    edge = Edge(frontier, LEAVES[before - before % WIDTH : before])

    made = [tile for leaf in LEAVES[before : before + more] for tile in edge.append(leaf)]

    full = range(before // WIDTH, (before + more) // WIDTH)
    assert [(Tile(0, index), FULL[Tile(0, index)]) for index in full] == made
    assert root_of(LEAVES[: before + more]) == edge.frontier.root()


def test_the_last_tile_of_256_fills_the_one_above() -> None:
    assert [] == list(completed(Tile(0, 254)))
    assert [Tile(1, 0)] == list(completed(Tile(0, 255)))
    assert [Tile(1, 255), Tile(2, 0)] == list(completed(Tile(0, 65_535)))
