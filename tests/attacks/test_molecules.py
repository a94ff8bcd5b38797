"""Text that crashes or exhausts what reads molecules, and molecules that are none."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from attacks import Attack, Fight

import verifier_ladder as vl
from verifier_ladder.tiers.fast.gate import MoleculeGate
from verifier_ladder.tiers.fast.hydration import HydrationEstimate

NO_MOLECULES: dict[str, str | bytes] = {
    "a chain that overflows the stack": "C" * 20_000,
    "a chain below the bound of letters": "C" * 999,
    "brackets without end": "(" * 100_000,
    "branches in branches": "C(" * 300 + "C" + ")" * 300,
    "dots without end": "." * 100_000,
    "a hundred molecules": ".".join(["C"] * 100),
    "rings in rings": "C1CC2" * 60 + "C" + "12" * 60,
    "a ring of a thousand atoms": "c1" + "c" * 400 + "1",
    "cubes that share their faces": "C12C3C4C1C5C2C3C45" * 40,
    "a ring that is never closed": "C1CC",
    "nothing": "",
    "a space": " ",
    "a molecule and a name": "CCO ethanol",
    "two answers": "<answer>CCO</answer> <answer>CCCO</answer>",
    "a charge that there is not": "[C+999]",
    "an atom without hydrogens": "[C]",
    "a placeholder": "*",
    "a placeholder with a number": "[*:1]CC",
    "a radical": "[CH3]",
    "an isotope": "[13CH4]",
    "two molecules": "CCO.CCO",
    "an element that is not allowed": "[U]",
    "too many bonds": "C(C)(C)(C)(C)C",
    "a pattern": "[#6]-[OH]",
    "NUL": "CC\0O",
    "letters that only look so": "\u0421\u0421\u041e",
    "a zero that is wide": "CC\uff2f",
    "a formula": "C2H6O",
    "a reaction": "CC>>CO",
    "a verdict": '{"outcome": "accept"}',
    "bytes that are no text": b"\xff\xfeCCO",
}


def test_no_text_passes_for_a_molecule(tmp_path: Path, require: Callable[..., None]) -> None:
    require("rdkit", find_spec("rdkit") is not None, "reads molecules")
    attacks = {
        name: Attack(
            vl.Candidate("molecule", text), vl.Candidate("molecule", "OCC" + "C" * (n % 9))
        )
        for n, (name, text) in enumerate(NO_MOLECULES.items())
    }
    climb = {
        "target": vl.Target("hydration free energy", unit="kcal/mol", direction="minimise"),
        "reward": vl.RewardRule(low=12.0, high=-12.0),
    }

    Fight([MoleculeGate(), HydrationEstimate()], attacks, tmp_path, climb=climb).run().check()
