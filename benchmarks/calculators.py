"""What verifiers of crystals cost beside their calculator alone, and how far SevenNet is off.

    python benchmarks/calculators.py bare       # beside ASE alone, in one process, in turn
    python benchmarks/calculators.py cost       # seconds predicted and taken, by size
    python benchmarks/calculators.py measured   # lattice constants, less measured ones
    python benchmarks/calculators.py devices    # a GPU less the processor, and what each takes

`VLADDER_DEVICE=cuda` has the first two use a GPU. Measured lattice constants are those of the CRC
Handbook of Chemistry and Physics, at room temperature.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from math import sqrt
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from verifier_ladder.candidate import Candidate
from verifier_ladder.settings import load_settings
from verifier_ladder.tiers.fast.crystalfile import Crystal
from verifier_ladder.tiers.fast.crystalform import written
from verifier_ladder.tiers.simulation.asecrystal import AseVerifier
from verifier_ladder.tiers.simulation.aseenergy import AseEnergy
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.tiers.simulation.calculators import method

ROUNDS = 15
SIZES = {8: (1, 1, 1), 16: (1, 1, 2), 32: (1, 2, 2), 64: (2, 2, 2), 192: (2, 3, 4)}
"""Atoms of silicon, and how often its cube is repeated for them."""
BEYOND = {216: (3, 3, 3), 512: (4, 4, 4)}
"""The same, of more atoms than the gate lets through."""
MEASURED = {
    "C": ("diamond", 3.567), "Si": ("diamond", 5.431), "Ge": ("diamond", 5.658),
    "Al": ("fcc", 4.050), "Ni": ("fcc", 3.524), "Cu": ("fcc", 3.615), "Pd": ("fcc", 3.891),
    "Ag": ("fcc", 4.086), "Pt": ("fcc", 3.924), "Au": ("fcc", 4.078), "Na": ("bcc", 4.291),
    "Fe": ("bcc", 2.867), "W": ("bcc", 3.165), "GaAs": ("zincblende", 5.653),
    "NaCl": ("rocksalt", 5.640), "MgO": ("rocksalt", 4.212), "LiF": ("rocksalt", 4.026),
    "CsCl": ("cesiumchloride", 4.123),
}  # fmt: skip
"""Å."""


def silicon(repeats: tuple[int, int, int], seed: int) -> Any:
    """Atoms near their places; others for each seed, so that nothing is known of them."""
    from ase.build import bulk

    atoms = bulk("Si", cubic=True, a=5.46).repeat(repeats)
    atoms.rattle(0.03, seed=seed)
    return atoms


def text(atoms: Any) -> str:
    """The file of a crystal."""
    symbols, places = tuple(atoms.get_chemical_symbols()), atoms.get_scaled_positions()
    return written(Crystal(symbols, np.array(atoms.cell), places))


def clock() -> float:
    """Seconds of the processor; of the wall, where a GPU is waited for."""
    return perf_counter() if load_settings().device == "cuda" else process_time()


def took(run: Callable[[], object]) -> float:
    """Seconds."""
    began = clock()
    run()
    return clock() - began


def point(atoms: Any, calculator: Any) -> None:
    """An energy with its forces, by ASE alone."""
    atoms.calc = calculator
    atoms.get_potential_energy()
    atoms.get_forces()


def rest(atoms: Any, calculator: Any) -> None:
    """A relaxation by ASE alone."""
    from ase.filters import FrechetCellFilter
    from ase.optimize import BFGS

    atoms.calc = calculator
    target: Any = FrechetCellFilter(atoms)
    BFGS(target, logfile=None).run(fmax=0.01, steps=300)


def bare(calculator: str) -> None:
    """Time of ASE alone, as a share of the verifier's."""
    alone, energy = method(calculator).calculator(), AseEnergy(calculator=calculator)
    for atoms, repeats in SIZES.items():
        _share("ase-energy", atoms, repeats, energy, lambda solid: point(solid, alone))
    relax = AseRelax(calculator=calculator)
    _share("ase-relax", 8, SIZES[8], relax, lambda solid: rest(solid, alone))


def _share(
    name: str, atoms: int, repeats: tuple[int, int, int], verifier: AseVerifier,
    alone: Callable[[Any], None],
) -> None:  # fmt: skip
    pairs = []
    for seed in range(ROUNDS + 2):  # The first two, in which code is compiled, do not count.
        solid = silicon(repeats, seed)
        candidate = Candidate("crystal", text(solid))
        ways = [lambda: alone(solid), lambda: verifier.judge([candidate])]  # noqa: B023 - run now
        order = (0, 1) if seed % 2 else (1, 0)
        times = {way: took(ways[way]) for way in order}
        pairs.append((times[0], times[1]))
    shares = [one / other for one, other in pairs[2:]]
    seconds = median(other for _, other in pairs[2:])
    print(
        f"{name:10} {atoms:4} atoms: {median(shares):.3f} ({min(shares):.3f} to "
        f"{max(shares):.3f}) of {1000 * seconds:.1f} ms",
        flush=True,
    )


def cost(calculator: str) -> None:
    """Seconds that were predicted, and those that it takes."""
    verifier = AseEnergy(calculator=calculator)
    for atoms, repeats in SIZES.items():
        candidates = [Candidate("crystal", text(silicon(repeats, seed))) for seed in range(7)]
        seconds = median(took(lambda: verifier.judge([each])) for each in candidates)  # noqa: B023
        expected = verifier.expected_cost(candidates[0]).seconds
        print(f"{atoms:4} atoms: {seconds:.4f} s, {expected:.4f} predicted", flush=True)


def measured(calculator: str) -> None:
    """Lattice constants at rest by each network, less measured ones, in per cent."""
    from ase.build import bulk

    networks = ("7net-0", "7net-l3i5") if calculator == "sevennet" else ("",)
    off: dict[str, list[float]] = {each: [] for each in networks}
    for name, (structure, constant) in MEASURED.items():
        candidate = Candidate("crystal", text(bulk(name, structure, a=constant, cubic=True)))
        for each in networks:
            setting: Any = {"name": calculator, "model": each} if each else calculator
            verdict = AseRelax(calculator=setting).judge([candidate])[0]
            before = constant**3 / len(bulk(name, structure, a=constant, cubic=True))
            after = verdict.evidence["volume at rest, Å³ an atom"]
            off[each].append(100 * ((after / before) ** (1 / 3) - 1))
        print(name, *(f"{off[each][-1]:+.2f}" for each in networks), flush=True)
    for each, found in off.items():
        root = sqrt(fmean(one**2 for one in found))
        print(f"{each}: root-mean-square {root:.2f} %, mean {fmean(found):+.2f} %")
    if len(networks) > 1:
        apart = [abs(one - other) / sqrt(2) for one, other in zip(*off.values(), strict=True)]
        print(f"spread of both: root-mean-square {sqrt(fmean(x**2 for x in apart)):.2f} %")


def devices(calculator: str) -> None:
    """Energies and forces on a GPU less those on the processor, and what a point takes."""
    for atoms, repeats in {**SIZES, **BEYOND}.items():
        answers = {}
        for device in ("cpu", "cuda"):
            os.environ["VLADDER_DEVICE"] = device
            answers[device] = list(_answers(calculator, repeats))
        apart = [
            (abs(one[0] - other[0]), float(np.abs(one[1] - other[1]).max()))
            for one, other in zip(answers["cpu"], answers["cuda"], strict=True)
        ]
        times = {name: [each[2] for each in found] for name, found in answers.items()}
        print(
            f"{atoms:4} atoms: {max(e for e, _ in apart):.1e} eV an atom, "
            f"{max(f for _, f in apart):.1e} eV/Å; "
            + ", ".join(
                f"{name} {1000 * median(found[2:]):.1f} ms (first {1000 * found[0]:.0f})"
                for name, found in times.items()
            ),
            flush=True,
        )


def _answers(calculator: str, repeats: tuple[int, int, int]) -> Iterator[tuple[float, Any, float]]:
    """Energies of an atom, forces, and seconds of the verifier, beyond the gate if need be."""
    verifier = AseEnergy(calculator=calculator)
    verifier.setup()
    for seed in range(7):
        solid, began = silicon(repeats, seed), perf_counter()
        solid.calc = method(calculator).calculator()
        verifier.computed(solid)
        seconds = perf_counter() - began
        yield solid.get_potential_energy() / len(solid), solid.get_forces(), seconds


def main() -> None:
    """Print what is asked for."""
    ways = {"bare": bare, "cost": cost, "measured": measured, "devices": devices}
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("what", choices=ways)
    parser.add_argument("--calculator", default="sevennet")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    ways[given.what](given.calculator)


if __name__ == "__main__":
    main()
