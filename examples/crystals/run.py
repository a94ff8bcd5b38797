"""Crystal stability: crystals that are made here climb three tiers, and a report shows them.

    python examples/crystals/run.py

It writes `crystals.db` and `crystals.html` into the folder where it is run. The tutorial *Which
crystal is stable?* of the documentation goes through it step by step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import verifier_ladder as vl

FOLDER = Path(__file__).resolve().parent
FACES = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
CENTRE = [(0, 0, 0), (0.5, 0.5, 0.5)]
PROTOTYPES = {
    "copper": ("Cu Cu Cu Cu", FACES, 3.6, 1.0),
    "gold": ("Au Au Au Au", FACES, 4.06, 1.0),
    "Cu3Au": ("Au Cu Cu Cu", FACES, 3.7, 1.0),
    "CuAu in layers": ("Cu Au Au Cu", FACES, 3.95, 0.91),
    "CuAu3": ("Cu Au Au Au", FACES, 3.95, 1.0),
    "CuAu as CsCl": ("Cu Au", CENTRE, 3.05, 1.0),
    "copper as iron": ("Cu Cu", CENTRE, 2.86, 1.0),
    "two atoms in one place": ("Cu Au", [(0, 0, 0), (0.08, 0, 0)], 3.7, 1.0),
}
"""Elements, places, the length of the cell in Å, and its height as a part of that."""
STRETCHED = (0.98, 1.0, 1.03)


def crystals() -> Iterator[tuple[str, str]]:
    """Names, and POSCAR files as a model would write them."""
    for name, (symbols, places, length, height) in PROTOTYPES.items():
        for factor in STRETCHED:
            a = length * factor
            atoms = sorted(zip(symbols.split(), places, strict=True))
            words = [symbol for symbol, _ in atoms]
            kinds = sorted(set(words))
            counts = " ".join(str(words.count(kind)) for kind in kinds)
            rows = "\n".join("{} {} {}".format(*place) for _, place in atoms)
            head = f"{name}\n1.0\n{a} 0 0\n0 {a} 0\n0 0 {a * height}\n"
            yield (
                f"{name}, {factor:.0%}",
                f"{head}{' '.join(kinds)}\n{counts}\nDirect\n{rows}\n",
            )


def main() -> None:
    """Score them, wait for the last tier, and write the report."""
    sys.path.insert(0, str(FOLDER))
    import shaken  # noqa: F401 - registers the last tier's verifier

    names, texts = zip(*crystals(), strict=True)
    ladder = FOLDER / "stability.toml"
    with vl.Campaign.open("crystal-stability", ladder=ladder, ledger="crystals.db") as campaign:
        rewards = campaign.score(list(texts), deadline=300)
        for name, reward in zip(names, rewards, strict=True):
            tier = reward.tier.label if reward.tier is not None else "–"
            told = "none" if reward.value is None else f"{reward.value:5.2f}"
            print(f"{told}  {tier:<14}{name:<32}{reward.reason}".rstrip())
        page = campaign.report("crystals.html")
    print(f"The page: {page}")


if __name__ == "__main__":
    main()
