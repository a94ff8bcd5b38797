"""The live view redraws in a terminal and tells in a log."""

import io

import pytest
from rich.console import Console

from verifier_ladder.cli.live import Drawing, LiveView, plain
from verifier_ladder.status import CampaignStatus, TierStatus
from verifier_ladder.tier import Tier


def status(**changes: float) -> CampaignStatus:
    numbers = dict.fromkeys(TierStatus._fields[1:8], 0)
    costs = {"cap": 100.0, "settled": 40.0, "reserved": 10.0, "failed": 0.0}
    one = TierStatus(**{"tier": Tier.SIMULATION, **numbers, **costs, **changes})  # type: ignore[arg-type]
    return CampaignStatus("try", [one])


def drawn(state: CampaignStatus | None, note: str = "", width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Drawing(state, "try", note))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_cost_stands_against_the_budget() -> None:
    assert "━━━━━╍────── 40.0+10.0 of 100 s" in drawn(status())


def test_without_a_cap_only_the_cost_is_shown() -> None:
    text = drawn(status(cap=None, reserved=0.0))  # type: ignore[arg-type]

    assert "40.0 s" in text
    assert "of" not in text.rsplit("40.0 s", maxsplit=1)[-1]


def test_a_budget_of_nothing_is_full() -> None:
    assert "─" not in drawn(status(cap=0.0)).splitlines()[-1]


@pytest.mark.parametrize("width", [20, 40, 78, 80, 92])
def test_every_width_is_kept_and_nothing_is_cut(width: int) -> None:
    text = drawn(status(done=3), width=width)

    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text


def test_the_note_alone_may_be_drawn() -> None:
    assert "try: 3 of 9 rows" == drawn(None, "3 of 9 rows").strip()


def test_a_log_gets_a_plain_line() -> None:
    text = plain(status(done=1200, running=2), "waiting")

    assert "waiting; simulation: 1,200 done, 2 running" == text


def test_without_a_terminal_an_unchanged_status_is_told_once() -> None:
    console = Console(file=io.StringIO(), width=80)
    with LiveView(console, "try") as view:
        view.update(status(done=1))
        view.update(status(done=1))

    assert isinstance(console.file, io.StringIO)
    assert "simulation: 1 done\n" == console.file.getvalue()


def test_in_a_terminal_the_table_is_redrawn() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with LiveView(console, "try") as view:
        view.update(status(done=1))
        view.update(status(done=2))

    assert isinstance(console.file, io.StringIO)
    assert "\x1b[1A" in console.file.getvalue()
