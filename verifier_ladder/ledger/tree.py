"""The tree: which hashes prove that an entry stands in a log, and that a log has only grown.

The hashing and the checking of proofs are in `offline`, which is shipped alone; here proofs are
made, from the hashes of complete subtrees. RFC 6962 section 2.1 gives the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from verifier_ladder.ledger.offline import node_hash

Node = Callable[[int, int], bytes]
"""Hash of the complete subtree over the leaves `index << level` to `(index + 1) << level`."""


def reduced(hashes: Sequence[bytes]) -> bytes:
    """Root over a power of two of hashes."""
    while len(hashes) > 1:
        pairs = zip(hashes[::2], hashes[1::2], strict=True)
        hashes = [node_hash(left, right) for left, right in pairs]
    return hashes[0]


def nodes_of(leaves: Sequence[bytes]) -> Node:
    """The nodes of a tree that lies in memory."""
    return lambda level, index: reduced(leaves[index << level : (index + 1) << level])


def inclusion(node: Node, index: int, size: int) -> list[bytes]:
    """Prove that a leaf stands at this place of the tree of this size.

    Example:
        >>> from verifier_ladder.ledger.offline import leaf_hash, root_by_path, root_of
        >>> leaves = [leaf_hash(bytes([n])) for n in range(7)]
        >>> path = inclusion(nodes_of(leaves), 4, 7)
        >>> root_by_path(leaves[4], 4, 7, path) == root_of(leaves)
        True
    """
    path = []
    first, last = 0, size
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            path.append(_root(node, middle, last))
            last = middle
        else:
            path.append(_root(node, first, middle))
            first = middle
    return path[::-1]


def consistency(node: Node, old: int, new: int) -> list[bytes]:
    """Prove that the tree of the new size begins with that of the old size."""
    path: list[bytes] = []
    first, last = 0, new
    while 0 < old < last:
        middle = first + _split(last - first)
        if old <= middle:
            path.append(_root(node, middle, last))
            last = middle
        else:
            path.append(_root(node, first, middle))
            first = middle
    if first:
        path.append(_root(node, first, last))
    return path[::-1]


def _split(count: int) -> int:
    """The largest power of two below a count."""
    return int(1 << (count - 1).bit_length() - 1)


def _root(node: Node, first: int, last: int) -> bytes:
    """Root over some leaves; `first` is a multiple of every power of two that fits behind it."""
    *left, root = [node(level, at >> level) for at, level in _complete(first, last)]
    for other in reversed(left):
        root = node_hash(other, root)
    return root


def _complete(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The complete subtrees that make up a range: first leaf and level, largest first."""
    while first < last:
        level = (last - first).bit_length() - 1
        yield first, level
        first += 1 << level
