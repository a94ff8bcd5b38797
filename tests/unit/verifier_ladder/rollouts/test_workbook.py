"""Workbooks: stored values of one sheet, and clear words for whatever is not one."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.badrow import BadRow
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts import workbook
from verifier_ladder.rollouts.records import Record
from verifier_ladder.rollouts.workbook import sheet_rows

SHEET = "xl/worksheets/sheet1.xml"
HEAD = ["case", "value", "measured on"]


def book(folder: Path, *rows: list[Any], change: Callable[[Any], object] = id) -> Path:
    """A workbook with one sheet under the usual names."""
    made = openpyxl.Workbook()
    made.active.title = "plate 1"
    for row in [HEAD, *rows]:
        made.active.append(row)
    change(made)
    made.save(folder / "results.xlsx")
    return folder / "results.xlsx"


def rewritten(path: Path, member: str, old: str, new: str) -> Path:
    """The workbook with the text of one of its parts changed, where it is there first."""
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[member]
    parts[member] = parts[member].replace(old.encode(), new.encode(), 1)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def read(path: Path, sheet: str | None = None) -> list[Record | BadRow]:
    return sheet_rows(path, sheet, ("case", "value"))


def test_stored_values_are_read_under_the_names_of_the_first_row(tmp_path: Path) -> None:
    path = book(tmp_path, ["a", 7.5], [], ["b", True], [3, "< 0.1"])

    assert [
        Record(2, {"case": "a", "value": 7.5, "measured on": None}),
        Record(4, {"case": "b", "value": True, "measured on": None}),
        Record(5, {"case": 3, "value": "< 0.1", "measured on": None}),
    ] == read(path)


def test_texts_that_a_workbook_keeps_in_one_place_are_found_there(tmp_path: Path) -> None:
    path = book(tmp_path, ["a", 1])
    part = "/xl/sharedStrings.xml"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    override = f'<Override PartName="{part}" ContentType="{kind}" /></Types>'
    rewritten(path, "[Content_Types].xml", "</Types>", override)
    rewritten(path, SHEET, TEXT, 't="s"><v>1</v>')
    with ZipFile(path, "a") as archive:
        namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        texts = "<si><t>x</t></si><si><r><t>two</t></r><r><t>_x000A_lines</t></r></si>"
        archive.writestr(part[1:], f'<sst xmlns="{namespace}">{texts}</sst>')

    (row,) = read(path)

    assert isinstance(row, Record)
    assert "two\nlines" == row.values["case"]


def test_the_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = book(tmp_path, ["a", 1], change=lambda made: made.create_sheet("plate 2"))

    assert 1 == len(read(path, "plate 1"))
    with pytest.raises(ConfigError, match=r"--sheet which one to read; it has 'plate 1', 'plate"):
        read(path)
    with pytest.raises(ConfigError, match=r"no sheet 'plate 3'; it has 'plate 1', 'plate 2'"):
        read(path, "plate 3")


def test_a_formula_gives_what_was_stored_and_nothing_is_computed(tmp_path: Path) -> None:
    path = book(tmp_path, ["a", "=3+4"], ["b", "=3+4"], ["c", 7])
    rewritten(path, SHEET, "<f>3+4</f><v />", "<f>3+4</f><v>8</v>")

    found = read(path)

    assert [8, 7] == [row.values["value"] for row in found if isinstance(row, Record)]
    (bad,) = (row for row in found if isinstance(row, BadRow))
    assert (3, True) == (bad.line, "never computed" in bad.reason)


@pytest.mark.parametrize("value", [dt.date(2026, 1, 2), dt.time(1), dt.timedelta(1), "#N/A"])
def test_dates_and_errors_are_bad_rows_where_they_matter(tmp_path: Path, value: object) -> None:
    found = read(book(tmp_path, ["a", value], ["b", 1, value]))

    assert [2] == [row.line for row in found if isinstance(row, BadRow)]
    assert [3] == [row.line for row in found if isinstance(row, Record)]


def test_merged_cells_are_refused(tmp_path: Path) -> None:
    path = book(tmp_path, ["a", 1], change=lambda made: made.active.merge_cells("A2:A3"))

    with pytest.raises(ConfigError, match=r"'A2:A3' of its sheet are merged"):
        read(path)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
TEXT = 't="inlineStr"><is><t>a</t></is>'
HOSTILE = {
    "entities": (SHEET, "<worksheet ", BOMB + "<worksheet ", "document type"),
    "entities elsewhere": ("docProps/core.xml", "<cp:", BOMB + "<cp:", "document type"),
    "a million columns": (SHEET, 'r="B2"', 'r="BDWGN2"', "has a cell 'BDWGN2'"),
    "many columns": (SHEET, 'r="B2"', 'r="XFD2"', "beyond 1,000 columns"),
    "many rows": (SHEET, 'r="2"', 'r="999999999999"', "comes after row 1"),
    "rows that go back": (SHEET, 'r="2"', 'r="1"', "row 1 of its sheet comes after row 1"),
    "a cell of another row": (SHEET, 'r="B2"', 'r="B9"', "row 2 of its sheet has a cell 'B9'"),
    "cells that go back": (SHEET, 'r="B2"', 'r="A2"', "not in order at 'A2'"),
    "broken XML": (SHEET, "</worksheet>", "", "can't read"),
    "broken XML elsewhere": ("xl/workbook.xml", "<sheets>", "<", "can't read"),
    "a number that is none": (SHEET, "<v>1</v>", "<v>one</v>", "can't read"),
    "styles without end": (
        "xl/styles.xml",
        "</cellXfs>",
        "<xf/>" * 200_000 + "</cellXfs>",
        "200,000 styles",
    ),
    "names without end": (SHEET, "</sheetData>", "</sheetData>" + "<a/>" * 200_000, "and other"),
    "a text that is nowhere": (SHEET, TEXT, 't="s"><v>99</v>', "can't read"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_workbook_ends_in_a_clear_error(tmp_path: Path, what: str) -> None:
    member, old, new, message = HOSTILE[what]
    path = book(tmp_path, ["a", 1])

    with pytest.raises(ConfigError, match=message):
        read(rewritten(path, member, old, new))


def test_what_unpacks_to_very_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rewritten(book(tmp_path, ["a", 1]), "docProps/core.xml", "<cp:", " " * 10_000_000)
    monkeypatch.setattr(workbook, "LARGEST_UNPACKED", 1_000_000)

    assert path.stat().st_size < 100_000
    with pytest.raises(ConfigError, match="it unpacks to 10,0"):
        read(path)


@given(
    junk=st.binary(max_size=200), start=st.sampled_from([b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
)
def test_junk_is_no_workbook(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, start: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.xlsx"
    path.write_bytes(start + junk)

    with pytest.raises(ConfigError, match=r"junk\.xlsx"):
        read(path)
