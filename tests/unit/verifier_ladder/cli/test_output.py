"""What is printed for programs is always JSON, and for people always text."""

import json
from typing import Any

import pytest

from verifier_ladder.cli.output import Exit, amount, console, moment, print_json, report, table
from verifier_ladder.errors import (
    BudgetError,
    ConfigError,
    EngineError,
    LadderError,
    LedgerError,
    PluginError,
)


@pytest.mark.parametrize(
    "value", [{"a": "\ud800"}, {1: 2}, {"k": b"\x01"}, [None, 1.5, "ü"], {"x": {"y": ["\udfff"]}}]
)
def test_anything_is_printed_as_json(capsys: pytest.CaptureFixture[str], value: Any) -> None:
    print_json(value)

    json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), Exit.USAGE),
        (BudgetError("x"), Exit.USAGE),
        (LedgerError("x"), Exit.BROKEN),
        (EngineError("x"), Exit.BROKEN),
        (PluginError("x"), Exit.BROKEN),
    ],
)
def test_an_error_has_its_exit_code(error: LadderError, code: Exit) -> None:
    assert code == report(error)


def test_an_error_is_told_without_markup_or_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    report(ConfigError("no [bold]such\x1b[31m thing"))

    assert "vladder: no [bold]such thing\n" == capsys.readouterr().err


def test_a_narrow_terminal_cuts_no_name_that_commands_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = table("name", "package", whole="name")
    rows.add_row("a" * 30, "b" * 30)
    console().print(rows)

    assert "a" * 30 in capsys.readouterr().out


def test_what_is_not_known_is_no_zero() -> None:
    assert ("–", "0", "") == (amount(None), amount(0.0), moment(None))
