"""Memory of the process that scores stays within its setting, however long completions are."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline", batch=True)
def length(candidates):
    return [float(len(candidate.content)) for candidate in candidates]

def peak():  # `ru_maxrss` is at least what the process had that started this one.
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))

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


FEW = """
import resource, sys
import verifier_ladder as vl

SIZE = 34_000_000

@vl.verifier(tier="fast", kind="text", version="1", isolation=sys.argv[2], batch=True)
def length(candidates):
    return [float(len(candidate.content)) for candidate in candidates]

def now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

with vl.Campaign.open("long", ladder=vl.Ladder("long", [length]), ledger=sys.argv[1]) as campaign:
    campaign.score(["short", "shorter"])
    before = now()
    for number in range(4):
        campaign.score([f"{number}" + "x" * SIZE])
    held = now() - before
    with open("/proc/self/status") as file:
        peak = next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    at_most = peak - before
print(held, at_most / SIZE)
"""


def ran(script: str, *arguments: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={"PATH": "/usr/bin:/bin", "VLADDER_CACHE_MEMORY": "16MiB"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return list(map(float, done.stdout.split()))


def test_long_completions_do_not_stay_in_memory(tmp_path: Path) -> None:
    (grown,) = ran(SCRIPT, str(tmp_path / "ledger.db"))

    assert grown < 64 * 2**20  # All of them together are twice that.


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_a_call_leaves_nothing_of_very_long_completions(tmp_path: Path, isolation: str) -> None:
    held, at_most = ran(FEW, str(tmp_path / "ledger.db"), isolation)

    assert held < 64 * 2**20  # The setting, and one that a thread is perhaps just letting go of.
    assert at_most < 5.5  # The completion itself, and what is made of it to be written.
