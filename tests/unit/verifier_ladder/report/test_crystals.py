"""Crystals are drawn from numbers and symbols alone, and what can't be read is not drawn."""

import re

import pytest
from crystals import PROTOTYPES, poscar

from verifier_ladder.report.crystals import draw_crystals
from verifier_ladder.tiers.fast.crystal import CrystalCanonicaliser

SALT = CrystalCanonicaliser().canonicalise(poscar(PROTOTYPES["NaCl"]))


def test_a_crystal_has_its_cell_and_its_atoms_inside_the_picture() -> None:
    drawn = draw_crystals([SALT])[SALT]
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn.drawing)
    circles = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)" r="([\d.]+)"', drawn.drawing)

    assert "ClNa, 2 in a cell, 22.4 Å³ each" == drawn.name
    assert 12 == drawn.drawing.count('class="edge"')
    # The sodium at the corner stands at all eight, chlorine in the middle.
    assert [1, 8] == sorted(
        drawn.drawing.count(f"<title>{symbol}</title>") for symbol in ("Na", "Cl")
    )
    assert view is not None
    for x, y, radius in circles:
        for at, room in ((float(x), float(view[1])), (float(y), float(view[2]))):
            assert float(radius) <= at + 0.11
            assert at + float(radius) <= room + 0.11


@pytest.mark.parametrize(
    "text",
    ["", "C1CC1", "<svg onload=alert(1)>", SALT.replace("Na", "<b>"), SALT.replace("1 1", "9 9")],
)
def test_what_is_no_crystal_is_not_drawn(text: str) -> None:
    assert {} == draw_crystals([text])


def test_nothing_of_the_text_is_in_the_drawing() -> None:
    titled = SALT.replace("crystal", "<script>alert(1)</script>", 1)

    assert draw_crystals([titled])[titled].drawing == draw_crystals([SALT])[SALT].drawing
