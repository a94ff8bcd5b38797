"""The tree against a naive recursive one, and against the vectors of RFC 6962's reference."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.ledger.offline import (
    Checkpoint,
    Frontier,
    RejectedError,
    check_growth,
    leaf_hash,
    node_hash,
    root_by_path,
    root_of,
)
from verifier_ladder.ledger.tree import consistency, inclusion, nodes_of, reduced

INPUTS = [
    bytes.fromhex(text)
    for text in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PATH_OF_5_IN_8 = [
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
PROOF_FROM_6_TO_8 = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]


LEAVES = [leaf_hash(str(n).encode()) for n in range(600)]


def leaves(count: int) -> list[bytes]:
    return LEAVES[:count]


def naive(hashes: list[bytes]) -> bytes:
    """Section 2.1 of RFC 6962, word by word."""
    if not hashes:
        return sha256().digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return node_hash(naive(hashes[:split]), naive(hashes[split:]))


def at(size: int, origin: str = "log") -> Checkpoint:
    return Checkpoint(origin, size, root_of(leaves(size)))


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_the_reference(size: int) -> None:
    assert ROOTS[size] == root_of(map(leaf_hash, INPUTS[:size])).hex()


def test_proofs_are_those_of_the_reference() -> None:
    node = nodes_of([leaf_hash(data) for data in INPUTS])

    assert PATH_OF_5_IN_8 == [found.hex() for found in inclusion(node, 5, 8)]
    assert PROOF_FROM_6_TO_8 == [found.hex() for found in consistency(node, 6, 8)]


@given(st.integers(0, 300))
def test_a_frontier_gives_the_root_of_the_naive_tree(size: int) -> None:
    assert naive(leaves(size)) == root_of(leaves(size))


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_frontier_goes_on_from_its_roots(size: int, more: int) -> None:
    begun = Frontier()
    for leaf in leaves(size):
        begun.append(leaf)

    resumed = Frontier(begun.size, begun.roots)
    for leaf in leaves(size + more)[size:]:
        resumed.append(leaf)

    assert (size + more, naive(leaves(size + more))) == (resumed.size, resumed.root())


@given(st.data())
def test_every_leaf_can_be_proven(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 300))
    index = data.draw(st.integers(0, size - 1))

    path = inclusion(nodes_of(leaves(size)), index, size)

    assert root_of(leaves(size)) == root_by_path(leaves(size)[index], index, size, path)


@given(st.data())
def test_a_changed_inclusion_proof_proves_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 100))
    index = data.draw(st.integers(0, size - 1))
    path = inclusion(nodes_of(leaves(size)), index, size)
    place = data.draw(st.integers(0, len(path) - 1))
    other = data.draw(st.sampled_from(["flip", "drop", "add", "move", "grow"]))
    size_told = size
    if other == "flip":
        path[place] = bytes([path[place][0] ^ 1]) + path[place][1:]
    elif other == "drop":
        del path[place]
    elif other == "add":
        path.insert(place, path[place])
    elif other == "move":
        index = (index + 1) % size
    else:
        size_told = 2 * size  # Another size whose proofs are longer.

    leaf = leaves(size)[index if other != "move" else index - 1]
    try:
        found = root_by_path(leaf, index, size_told, path)
    except RejectedError:
        return
    assert root_of(leaves(size)) != found


@given(st.integers(0, 300), st.integers(0, 300))
def test_growth_can_be_proven(one: int, other: int) -> None:
    old, new = sorted((one, other))

    check_growth(at(old), at(new), consistency(nodes_of(leaves(new)), old, new))


@given(st.data())
def test_a_log_that_was_changed_is_no_growth(data: st.DataObject) -> None:
    old = data.draw(st.integers(1, 100))
    new = data.draw(st.integers(old, 200))
    place = data.draw(st.integers(0, old - 1))
    changed = leaves(new)
    changed[place] = leaf_hash(b"another")
    path = consistency(nodes_of(changed), old, new)

    with pytest.raises(RejectedError, match=r"begin with|different logs"):
        check_growth(at(old), Checkpoint("log", new, root_of(changed)), path)


@given(st.data())
def test_a_changed_consistency_proof_proves_nothing(data: st.DataObject) -> None:
    old = data.draw(st.integers(1, 99))
    new = data.draw(st.integers(old + 1, 200))
    path = consistency(nodes_of(leaves(new)), old, new)
    place = data.draw(st.integers(0, len(path) - 1))
    if data.draw(st.booleans()):
        path[place] = bytes([path[place][0] ^ 1]) + path[place][1:]
    else:
        del path[place]

    with pytest.raises(RejectedError):
        check_growth(at(old), at(new), path)


def test_a_log_that_shrank_is_no_growth() -> None:
    with pytest.raises(RejectedError, match="shrunk from 5 to 3"):
        check_growth(at(5), at(3), [])


@pytest.mark.parametrize("index", [-1, 3, 10])
def test_a_place_outside_the_log_is_refused(index: int) -> None:
    with pytest.raises(RejectedError, match="no entry"):
        root_by_path(leaves(1)[0], index, 3, [])


@pytest.mark.parametrize("power", range(6))
def test_a_power_of_two_is_reduced_to_its_root(power: int) -> None:
    assert naive(leaves(1 << power)) == reduced(leaves(1 << power))
