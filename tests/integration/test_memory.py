"""Memory of the process that scores stays within its setting, however long completions are."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import resource, sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def length(candidates):
    return [float(len(candidate.content)) for candidate in candidates]

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def texts(first):
    return [f"{first + number:09d}" + "x" * 16_384 for number in range(64)]

with vl.Campaign.open("long", ladder=vl.Ladder("long", [length]), ledger=sys.argv[1]) as campaign:
    campaign.score(texts(0))
    before = peak()
    for first in range(64, 8192, 64):
        campaign.score(texts(first))
    grown = peak() - before
    assert all(reward.value == 16_393.0 for reward in campaign.score(texts(0)))
print(grown)
"""


def test_long_completions_do_not_stay_in_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "ledger.db")],
        env={"PATH": "/usr/bin:/bin", "VLADDER_CACHE_MEMORY": "16MiB"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    assert int(done.stdout) < 64 * 2**20  # All of them together are twice that.
