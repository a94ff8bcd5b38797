"""Memory of the process that scores stays within its setting, however long completions are."""

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 2**20
SAMPLES = {32: 640, 64: 1_280, 256: 20_000}
"""Samples of the longest call, by the setting in MiB: beside its text one takes some kB."""

CONTROL, EMOJI = chr(1), chr(0x1F600)
"""Characters of six bytes as JSON, and of four there and in both forms that Python keeps."""

PRELUDE = """
import sys
import verifier_ladder as vl
from verifier_ladder.scheduler.policies.alltiers import AllTiers

path, isolation, fill, *numbers = sys.argv[1:]

def verifier(tier):
    @vl.verifier(name=tier, tier=tier, kind="text", version="1", isolation=isolation, batch=True)
    def length(candidates):
        return [float(len(candidate.content)) for candidate in candidates]
    return length

def opened(*tiers, path=path):
    ladder = vl.Ladder("long", [verifier(tier) for tier in tiers], policy=AllTiers())
    return vl.Campaign.open("long", ladder=ladder, ledger=path, workers=2)

def told(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

def begin():  # The most that it had is what it has now.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return told("VmHWM")

def text(number, length):
    return f"{number:09d}".ljust(length, chr(int(fill)))
"""

MANY = """
length, total = map(int, numbers)
count = max(1, min(64, 2**20 // length))
with opened("fast") as campaign:
    campaign.score(["short", "shorter"])
    before = begin()
    for first in range(0, total // length, count):
        campaign.score([text(first + number, length) for number in range(count)])
    print(told("VmHWM") - before - count * length)
    assert campaign.score([text(0, length)])[0].value == length
"""

AT_ONCE = """
length, total, *are_bytes = map(int, numbers)
texts = [text(number, length) for number in range(total // length)]
if are_bytes:
    texts = [text.encode() for text in texts]
with opened("fast", "simulation") as campaign:
    campaign.score(["short", "shorter"])
    assert campaign.drain("300 s")
    before = begin()
    campaign.score(texts)
    assert campaign.drain("300 s")
    print(told("VmHWM") - before)
    assert all(reward.value == length for reward in campaign.score(texts))
"""

ALIKE = """
length, count, kind = map(int, numbers)
if kind == 2:  # One task of as many bytes, in short texts.
    task = {"tests": ["0123456789" * 2] * (length // 23)}
    texts = [vl.Candidate("text", "the same", task)] * count
else:
    texts = [text(0, length).encode() if kind else text(0, length)] * count
with opened("fast", "simulation") as campaign:
    campaign.score(["short", "shorter"])
    assert campaign.drain("300 s")
    before = begin()
    campaign.score(texts)
    assert campaign.drain("300 s")
    print(told("VmHWM") - before)
    assert 1 == len({reward.value for reward in campaign.score(texts)} - {None})
"""

TASKS = """
length, count = map(int, numbers)
samples = [vl.Candidate("text", f"{n}", {"tests": text(n, length)}) for n in range(count)]
with opened("fast") as campaign:
    campaign.score(["short", "shorter"])
    before = begin()
    campaign.score(samples)
    print(told("VmHWM") - before)
"""

AGAIN = """
with opened("fast", "simulation", path=path + ".other") as campaign:
    campaign.score(["short"])
    assert campaign.drain("300 s")
before = begin()
with opened("fast", "simulation") as campaign:
    assert campaign.drain("300 s")
    campaign.score(["short"])
    print(told("VmHWM") - before)
"""

TOO_LONG = """
(length,) = map(int, numbers)
with opened("fast", "simulation") as campaign:
    campaign.score(["short", "shorter"])
    assert campaign.drain("300 s")
    texts = [text(number, length) for number in range(8)]
    before = begin()
    rewards = campaign.score(["short but new", *texts])
    assert campaign.drain("300 s")
    print(told("VmHWM") - before)
    rewards += campaign.score([vl.Candidate("text", "turns", turns=[vl.Turn(texts[0])])])
    assert rewards[0].value == len("short but new")
    assert {(one.value, one.failed_at) for one in rewards[1:]} == {(None, "memory")}
    print(rewards[1].reason.rpartition("set it to ")[2].removesuffix("MiB"))
"""


def ran(
    script: str, setting: str, path: Path | str, isolation: str, *numbers: int, fill: str = "x",
    **environment: str,
) -> list[float]:  # fmt: skip
    arguments = path, isolation, ord(fill), *numbers
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *map(str, arguments)],
        env={"PATH": "/usr/bin:/bin", "VLADDER_CACHE_MEMORY": setting, **environment},
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr
    return list(map(float, done.stdout.split()))


def test_long_completions_do_not_stay_in_memory(tmp_path: Path) -> None:
    (grown,) = ran(MANY, "32MiB", tmp_path / "ledger.db", "inline", 16_384, 64 * MIB)

    assert grown < 32 * MIB


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_a_call_of_many_long_completions_adds_no_more_than_the_setting(
    tmp_path: Path, isolation: str
) -> None:
    (grown,) = ran(AT_ONCE, "32MiB", tmp_path / "ledger.db", isolation, 250_000, 14_000_000)

    assert grown < 32 * MIB


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["text", "bytes", "task"])
def test_samples_that_one_check_answers_hold_what_they_share_once(
    tmp_path: Path, kind: int
) -> None:
    (grown,) = ran(ALIKE, "32MiB", tmp_path / "ledger.db", "inline", 200_000, 320, kind)

    assert grown < 32 * MIB


def test_they_do_where_a_driver_holds_all_rows_of_a_statement(
    postgresql: str, tmp_path: Path
) -> None:
    key = str(tmp_path / "ledger.key")
    (grown,) = ran(ALIKE, "32MiB", postgresql, "inline", 200_000, 320, 0, VLADDER_KEY=key)

    assert grown < 32 * MIB


def test_tasks_of_a_call_travel_to_workers_in_pieces(tmp_path: Path) -> None:
    (grown,) = ran(TASKS, "32MiB", tmp_path / "ledger.db", "process", 250_000, 240)

    assert grown < 32 * MIB


def test_a_call_of_many_long_bytes_adds_no_more_than_the_setting(tmp_path: Path) -> None:
    (grown,) = ran(AT_ONCE, "32MiB", tmp_path / "ledger.db", "inline", 250_000, 14_000_000, 1)

    assert grown < 32 * MIB


@pytest.mark.parametrize(("fill", "kept"), [(CONTROL, 0), (EMOJI, 4)], ids=["control", "emoji"])
def test_characters_that_take_many_bytes_add_no_more_than_the_setting(
    tmp_path: Path, fill: str, kept: int
) -> None:
    """Beside the UTF-8 that Python keeps with the learner's own texts, four bytes of an emoji."""
    path = tmp_path / "ledger.db"
    (grown,) = ran(AT_ONCE, "32MiB", path, "process", 20_000, 3_600_000, fill=fill)

    assert grown - kept * 3_600_000 < 32 * MIB


def test_what_is_longer_than_there_is_room_for_is_asked_nobody_about(tmp_path: Path) -> None:
    grown, enough = ran(TOO_LONG, "32MiB", tmp_path / "ledger.db", "inline", 34_000_000)

    assert grown < 32 * MIB
    assert enough == -(-34_000_000 * 32 // MIB) + 24


def test_opening_reads_no_checks_that_are_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ran(AT_ONCE, "32MiB", path, "inline", 250_000, 24_000_000)

    (grown,) = ran(AGAIN, "32MiB", path, "inline", 250_000, 24_000_000)

    assert grown < 32 * MIB


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["inline", "process"])
@pytest.mark.parametrize(
    ("setting", "length"),
    [
        (s, n)
        for s in SAMPLES
        for n in (1_000, 16_384, 131_072, 260_000, 1_300_000, 7_600_000)
        if 32 * n <= (s - 24) * MIB
    ],
)
def test_no_length_of_completions_takes_more_than_the_setting(
    tmp_path: Path, setting: int, length: int, isolation: str
) -> None:
    most = f"{setting}MiB"
    total, of_a_call = min(2 * setting * MIB, length * 100_000), length * SAMPLES[setting]

    (many,) = ran(MANY, most, tmp_path / "many.db", isolation, length, total)
    (at_once,) = ran(
        AT_ONCE, most, tmp_path / "at once.db", isolation, length, min(setting * MIB, of_a_call)
    )

    assert many < setting * MIB
    assert at_once < setting * MIB
