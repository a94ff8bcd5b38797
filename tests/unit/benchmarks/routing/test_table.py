from typing import Any

import numpy as np
import pytest
from routing.manifest import Manifest
from routing.table import Table, load

from verifier_ladder.errors import ConfigError

Row = dict[str, object]


def manifest(**changes: Any) -> Manifest:
    base = {
        "name": "small", "file": "small.csv", "row": ["id"], "group": "g",
        "tiers": [{"tier": "fast", "score": "a"}, {"tier": "world", "score": "b", "cost": 1.0}],
    }  # fmt: skip
    return Manifest.model_validate({**base, **changes})


def plain() -> list[Row]:
    return [{"id": f"r{n}", "g": n // 2, "a": 0.5, "b": float(n), "cost": n} for n in range(6)]


def test_the_tiers_are_the_columns_in_order(small: Table) -> None:
    assert (72, 3) == small.scores.shape
    assert 12 == small.groups
    assert np.all(small.truth == small.scores[:, 2])
    assert [0.0, 0.05, 1.0] == small.costs[0].tolist()


def test_categories_become_ones_and_logarithms_are_taken(small: Table) -> None:
    assert "log size" == small.feature_names[0]
    assert np.log(10) == small.features[0, 0]
    assert np.all(small.features[:, 1:].sum(axis=1) == 1.0)


def test_a_product_is_the_number_where_the_category_is(write: Any) -> None:
    table = [{**row, "kind": "x" if n % 2 else "y", "n": n + 1} for n, row in enumerate(plain())]
    made = load(
        manifest(features={
            "numbers": ["n"], "products": [["kind", "n"]],
        }), write(table),
    )  # fmt: skip

    column = made.feature_names.index("kind=x × n")

    assert [0, 2, 0, 4, 0, 6] == made.features[:, column].tolist()


def test_an_empty_feature_is_not_known(write: Any) -> None:
    table = plain()
    table[0]["a2"], table[1]["a2"] = "", 1.5
    for row in table[2:]:
        row["a2"] = 2.0
    made = load(manifest(features={"numbers": ["a2"]}), write(table))

    assert np.isnan(made.features[0, 0])
    assert 1.5 == made.features[1, 0]


def test_an_empty_cost_takes_the_stand_in(write: Any) -> None:
    table = plain()
    table[0]["cost"] = ""
    tiers = [
        {"tier": "fast", "score": "a"},
        {"tier": "world", "score": "b", "cost": "cost", "missing": 7.0},
    ]

    assert 7.0 == load(manifest(tiers=tiers), write(table)).costs[0, 1]


@pytest.mark.parametrize(("column", "nothing"), [("a", ""), ("b", " NaN "), ("cost", "n/a")])
def test_rows_that_lack_a_number_are_left_out_if_the_manifest_says_so(
    write: Any, column: str, nothing: str
) -> None:
    tiers = [
        {"tier": "fast", "score": "a"},
        {"tier": "world", "score": "b", "cost": "cost"},
    ]
    rows = plain()
    rows[1][column] = nothing

    made = load(manifest(tiers=tiers, skip_incomplete=True), write(rows))

    assert (["r0", "r2", "r3", "r4", "r5"], 1) == (made.names, made.left_out)


def test_what_is_no_number_at_all_is_not_skipped_and_its_line_is_named(write: Any) -> None:
    rows = plain()
    rows[1]["a"], rows[3]["a"] = "", "x"

    with pytest.raises(ConfigError, match="line 5, column 'a': 'x'"):
        load(manifest(skip_incomplete=True), write(rows))


def test_costs_of_several_columns_add_up(write: Any) -> None:
    tiers = [
        {"tier": "fast", "score": "a"},
        {"tier": "world", "score": "b", "cost": ["cost", "a"]},
    ]

    assert 2.5 == load(manifest(tiers=tiers), write(plain())).costs[2, 1]


def test_rows_are_dealt_into_groups_of_a_size(write: Any) -> None:
    made = load(manifest(group=3), write(plain()))

    assert [3, 3] == np.bincount(made.group).tolist()
    assert [0, 1, 2] == sorted(made.arm[made.group == 0].tolist())


def test_dealing_is_the_same_every_time(write: Any) -> None:
    folder = write(plain())

    first, second = (load(manifest(group=2), folder).group for _ in range(2))

    assert np.array_equal(first, second)


def test_members_are_the_rows_of_each_group(small: Table) -> None:
    assert all(np.all(small.group[m] == n) for n, m in enumerate(small.members()))


def test_chosen_rows_keep_their_numbers_and_get_new_groups(small: Table) -> None:
    few = small.rows(np.array([70, 71, 3]))

    assert [1, 1, 0] == few.group.tolist()
    assert np.array_equal(small.truth[[70, 71, 3]], few.truth)


def without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    ("table", "changes", "words"),
    [
        ([without(row, "b") for row in plain()], {}, "no column 'b'; it has id"),
        ([{**row, "a": "nan"} for row in plain()], {}, "line 2, column 'a': 'nan'"),
        ([{**row, "a": "inf"} for row in plain()], {}, "not a finite number"),
        ([{**row, "a": "x"} for row in plain()], {}, "'x' is not a finite number"),
        ([{**row, "a": ""} for row in plain()], {}, "'' is not a finite number"),
        ([{**row, "id": "same"} for row in plain()], {}, "lines 2 and 3 are both called 'same'"),
        ([{**row, "g": 1} for row in plain()], {}, "fewer than two groups"),
        ([{**row, "g": n} for n, row in enumerate(plain())], {}, "fewer than two groups"),
        (plain(), {"scale": "binary"}, "other than 0 and 1"),
        ([], {}, "has no rows"),
        (plain(), {"file": "none.csv"}, "name the folder with --data"),
        (plain(), {"features": {"logarithms": ["b"]}}, "without a logarithm"),
        (
            plain(),
            {"features": {"products": [["g", "c"]]}},
            "a product names 'c'",
        ),
        (
            [{**row, "cost": -1} for row in plain()],
            {"tiers": [
                {"tier": "fast", "score": "a"}, {"tier": "world", "score": "b", "cost": "cost"},
            ]},
            "negative",
        ),
    ],
)  # fmt: skip
def test_a_bad_table_is_refused_in_words(
    write: Any, table: list[Row], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load(manifest(**changes), write(table))


def test_a_line_of_another_length_is_named(write: Any) -> None:
    folder = write(plain())
    path = folder / "small.csv"
    path.write_text(path.read_text() + "r9,1\n")

    with pytest.raises(ConfigError, match="line 8: 2 fields instead of 5"):
        load(manifest(), folder)


def test_descriptors_are_computed_from_smiles(write: Any) -> None:
    pytest.importorskip("rdkit")
    table = [
        {**row, "smiles": smiles}
        for row, smiles in zip(plain(), ["CCO", "C", "CC", "CCC", "c1ccccc1", "O"], strict=True)
    ]
    made = load(
        manifest(smiles="smiles", features={"numbers": ["heavy_atoms", "aromatic_rings"]}),
        write(table),
    )

    assert [3, 1, 2, 3, 6, 1] == made.features[:, 0].tolist()
    assert 1.0 == made.features[4, 1]
