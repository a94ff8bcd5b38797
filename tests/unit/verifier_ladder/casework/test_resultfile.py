"""Files of results are read in a process that may be killed."""

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.casework import resultfile
from verifier_ladder.casework.resultfile import ResultFileReading, Written, read_rows
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.records import Record

COLUMNS = ("case", "value")


def read(path: Path) -> list[Any]:
    return read_rows(path, Written(), COLUMNS, COLUMNS)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.csv"
    path.write_bytes(b"case,value\n" + b"some text,1\n" * 90_000)
    return path


def test_nothing_of_a_file_is_parsed_in_the_process_that_wants_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_here(*_: Any, **__: Any) -> Any:
        raise AssertionError("it is parsed here")

    monkeypatch.setattr(csv, "reader", read_here)
    path = tmp_path / "results.csv"
    path.write_text("case,value,colour\na,7.5,red\n")

    assert [Record(2, {"case": "a", "value": "7.5"})] == read(path)


def test_numbers_and_texts_of_any_kind_come_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(f'[{{"case": "\\ud83d\\u2028\\n", "value": [{2**80}, 1e999, null]}}]')

    (row,) = read(path)

    assert {"case": "\ud83d\u2028\n", "value": [2**80, float("inf"), None]} == row.values


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "results.csv")

    with pytest.raises(ConfigError, match=r"can't read .*results.csv: it is no file"):
        read(tmp_path / "results.csv")


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_refused_and_the_next_one_is_read(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = tmp_path / "good.csv"
    good.write_text("case,value\na,1\n")
    assert 1 == len(read(good))
    with monkeypatch.context() as limited:
        limited.setattr(resultfile, "_SECONDS", 0.05)
        with pytest.raises(ConfigError, match=r"many.csv can't be read within 0.05 s .*CSV UTF"):
            read(many)

    assert 1 == len(read(good))


@pytest.mark.slow
def test_a_file_that_takes_too_much_memory_is_refused_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, large = tmp_path / "good.json", tmp_path / "large.json"
    good.write_text('[{"case": "a", "value": 1}]')
    more = ",".join(["[1]"] * 10**6)
    large.write_text(f'[{{"case": "a", "value": 1, "more": [{more}]}}]')
    assert 1 == len(read(good))
    small = ResultFileReading()
    small.memory = 2**25
    with monkeypatch.context() as limited:
        limited.setattr(resultfile, "_READER", small)
        with pytest.raises(ConfigError, match=r"large.json can't be read within .* 32 MiB of mem"):
            read(large)

    assert 1 == len(read(good))
