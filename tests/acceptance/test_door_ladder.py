"""Door (c): a ladder of one's own, as a script without a main guard."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import forked

SCRIPT = """
import json
import verifier_ladder as vl

def quick_logp(smiles): return float(len(smiles))
def run_dft(smiles): return len(smiles) + 0.5

@vl.verifier(tier="fast", kind="molecule", version="1")
def cheap(candidate): return quick_logp(candidate.content)            # a float or bool is enough

@vl.verifier(tier="high_fidelity", kind="molecule", version="1")
def costly(candidate): return run_dft(candidate.content)

ladder = vl.Ladder("mine", [cheap, costly], audit=0.05)
budget = {"high_fidelity": "2 h"}
with vl.Campaign.open("try", ladder=ladder, ledger="ledger.db", budget=budget) as campaign:
    rewards = campaign.score(["CCO", "c1ccccc1"], deadline=300)
    revisions = list(campaign.revisions())
print(json.dumps({"values": [r.value for r in rewards], "tiers": [r.tier.label for r in rewards],
                  "revised": sorted(r.position for r in revisions)}))
"""


def run(folder: Path) -> dict[str, list[object]]:
    """Run the script as a user would."""
    (folder / "mine.py").write_text(SCRIPT)
    done = forked.run(
        [sys.executable, "mine.py"], cwd=folder, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_two_tier_ladder_answers_from_its_top_within_the_deadline(tmp_path: Path) -> None:
    """Both candidates climb, and the costly number replaces the cheap one."""
    answer = run(tmp_path)

    assert answer["values"] == [3.5, 8.5]
    assert answer["tiers"] == ["high_fidelity", "high_fidelity"]
    assert answer["revised"] == [0, 1]


def test_a_second_run_is_answered_from_the_ledger(tmp_path: Path) -> None:
    """No revision is needed the second time: the first answer is already the costly one."""
    run(tmp_path)

    again = run(tmp_path)

    assert again["values"] == [3.5, 8.5]
    assert (tmp_path / "ledger.db").exists()
