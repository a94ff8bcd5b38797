"""A hundred thousand mixed SMILES, made by rule: what a learner's batch looks like."""

from __future__ import annotations

import random

_ENDS = [
    "C", "O", "N", "F", "Cl", "Br", "C#N", "C(=O)O", "C(N)=O", "OC", "c1ccccc1", "C1CC1",
    "c1ccncc1", "c1ccc(F)cc1", "S(C)(=O)=O", "N1CCOCC1", "c1ccsc1", "C(F)(F)F",
    "c1ccc2[nH]ccc2c1",
]  # fmt: skip
_LINKS = [
    "C", "CC", "C(=O)N", "OC", "N(C)C", "c1ccc(cc1)", "C(C)(C)", "C(O)", "C=C", "S",
    "C1CCN(CC1)", "c1cnc(nc1)", "[C@@H](N)", "C(=O)",
]  # fmt: skip
_REPEATED, _SPOILT = 0.05, 0.03
_BROKEN = ["C1CC", "C(C", "c1cccc1", "CC(C)(C)(C)C", "XYZ", "C==C=(", "[Fe+]X", "N#N#N"]


def mixed_smiles(count: int, *, seed: int = 7) -> list[str]:
    """Give `count` SMILES: about 92 % new and valid, 5 % repeated, 3 % broken.

    Args:
        count: How many.
        seed: The same seed gives the same list.
    """
    draw = random.Random(seed)  # noqa: S311 - a benchmark's input, not a secret
    made: list[str] = []
    for _ in range(count):
        kind = draw.random()
        if kind < _REPEATED and made:
            made.append(draw.choice(made))
        elif kind < _REPEATED + _SPOILT:
            made.append(_molecule(draw) + draw.choice(_BROKEN))
        else:
            made.append(_molecule(draw))
    return made


def _molecule(draw: random.Random) -> str:
    links = "".join(draw.choice(_LINKS) for _ in range(draw.randint(2, 5)))
    return f"{draw.choice(_ENDS[:4])}{links}{draw.choice(_ENDS)}"
