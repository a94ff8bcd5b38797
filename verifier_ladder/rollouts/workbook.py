"""Workbooks: the rows of one sheet of an .xlsx file, with the values that were stored in it."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat
from zipfile import ZipFile

from verifier_ladder.badrow import BadRow
from verifier_ladder.containment import text_of
from verifier_ladder.errors import ConfigError
from verifier_ladder.rollouts.records import Record, given_twice
from verifier_ladder.rollouts.rows import RowError

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes of a workbook, packed."""
LARGEST_UNPACKED: Final = 256 * 1024 * 1024
"""Bytes of all its parts together."""
MOST_COLUMNS: Final = 1000
_MOST_PARTS, _MOST_ROWS, _MOST_CELLS = 2000, 1_048_576, 1_000_000
_MOST_ELEMENTS, _MOST_BESIDE = 5_000_000, 200_000
"""Elements of all its XML that make up cells, and all others: the library makes objects of those,
of half a kilobyte each where they are styles."""
_OF_CELLS = frozenset({"row", "c", "v", "f", "is", "si", "t", "r"})
_BLOCK = 1 << 16
_PLACE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})", re.ASCII)


def sheet_rows(path: Path, sheet: str | None, columns: Collection[str]) -> list[Record | BadRow]:
    """Read a sheet whose first row names the columns.

    Formulas give what the program that saved them had computed. Dates and errors, and formulas
    that were never computed, make a bad row of theirs.

    Args:
        path: The workbook.
        sheet: Its name; None for the only one.
        columns: Names of the columns to read; the others are None.

    Raises:
        ConfigError: If the file can't be read as a workbook, is larger than the limits, or has no
            such sheet; or if the sheet has merged cells, or columns without a name or of the same.
    """
    openpyxl = _openpyxl()
    try:
        data = _bytes(path)
        with warnings.catch_warnings(), ZipFile(BytesIO(data)) as archive:
            warnings.simplefilter("ignore")
            _check_parts(archive)
            book = openpyxl.load_workbook(
                BytesIO(data), read_only=True, data_only=True, keep_links=False
            )
            found = _sheet(book, sheet)
            survey = _Survey()
            with archive.open(found._worksheet_path) as part:  # noqa: SLF001 - it has no other name
                survey.read(part)
            found.reset_dimensions()  # What a file says of its size may be wrong.
            return list(_records(found.iter_rows(), survey.uncomputed, columns))
    except ConfigError as error:
        raise ConfigError(f"workbook {path}: {error}") from None
    except MemoryError:  # Whoever has set a limit says what to do.
        raise
    except Exception as error:  # The library raises whatever a broken file makes it raise.
        raise ConfigError(
            f"can't read {path} as an .xlsx workbook: {text_of(error)}. Save it anew, without a "
            "password, or save the sheet as CSV UTF-8"
        ) from error


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise ConfigError(
            "openpyxl is needed to read workbooks: pip install '.[lab]' in a clone; or save the "
            "sheet as CSV UTF-8"
        ) from None
    return openpyxl


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"it is larger than {LARGEST_FILE:,} bytes")
    return data


def _sheet(book: Any, name: str | None) -> Any:
    names = [sheet.title for sheet in book.worksheets]
    listed = ", ".join(map(repr, names[:20]))
    if name is None and len(names) != 1:
        raise ConfigError(f"say with --sheet which one to read; it has {listed or 'no sheets'}")
    if name is not None and name not in names:
        raise ConfigError(f"it has no sheet {name!r:.60}; it has {listed or 'none'}")
    return book.worksheets[0 if name is None else names.index(name)]


# ---- Before the library sees it


def _check_parts(archive: ZipFile) -> None:
    """Refuse an archive that unpacks to very much, and XML that defines entities or very much.

    `zipfile` gives no more of a part than the archive's index says.

    Raises:
        ConfigError: If it is so.
    """
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if len(parts) > _MOST_PARTS or size > LARGEST_UNPACKED:
        raise ConfigError(
            f"it unpacks to {size:,} bytes in {len(parts):,} parts; {LARGEST_UNPACKED:,} bytes in "
            f"{_MOST_PARTS:,} parts may be. Save the sheet as CSV UTF-8"
        )
    count = _Elements().count
    for part in parts:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = _refuse_definitions
        parser.StartElementHandler = count
        with archive.open(part) as stream:
            try:
                while block := stream.read(_BLOCK):
                    parser.Parse(block)
            except expat.ExpatError:
                continue  # It is a picture, or broken: whoever needs it is told.


def _refuse_definitions(*_: object) -> None:
    raise ConfigError("its XML has a document type, which no spreadsheet program writes")


class _Elements:
    """Counts the elements of a workbook, and refuses too many."""

    def __init__(self) -> None:
        self._of_cells = self._beside = 0

    def count(self, name: str, _: object) -> None:
        """Count one.

        Raises:
            ConfigError: If there are too many.
        """
        is_of_cell = name.rpartition(":")[2] in _OF_CELLS
        self._of_cells += is_of_cell
        self._beside += not is_of_cell
        if self._of_cells > _MOST_ELEMENTS or self._beside > _MOST_BESIDE:
            raise ConfigError(
                f"it has more than {_MOST_ELEMENTS:,} parts of cells, or more than "
                f"{_MOST_BESIDE:,} styles, names and other things. Save the sheet as CSV UTF-8"
            )


class _Survey:
    """What the XML of a sheet tells that its values don't: its order, merges and formulas."""

    def __init__(self) -> None:
        self.uncomputed: dict[int, set[int]] = defaultdict(set)
        """Columns of formulas without a value, by their row."""
        self._row = self._column = self._cells = 0
        self._in_value = self._has_formula = self._has_value = False

    def read(self, part: Any) -> None:
        """Read the XML.

        Raises:
            ConfigError: If cells are merged, too many, or not in order.
        """
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.ParseFile(part)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                self._begin_row(attributes.get("r"))
            case "c":
                self._begin_cell(attributes.get("r"))
            case "f":
                self._has_formula = True
            case "v":
                self._in_value = True
            case "mergeCell":
                raise ConfigError(
                    f"the cells {attributes.get('ref', '')!r:.40} of its sheet are merged, so it "
                    "can't be told to which row a value belongs; unmerge them"
                )

    def _begin_row(self, number: str | None) -> None:
        row = self._row + 1 if number is None else int(number)
        if not self._row < row <= _MOST_ROWS:
            raise ConfigError(f"row {row} of its sheet comes after row {self._row}")
        self._row, self._column = row, 0

    def _begin_cell(self, place: str | None) -> None:
        column = self._column + 1 if place is None else self._place(place)
        self._cells += 1
        if not self._column < column <= MOST_COLUMNS or self._cells > _MOST_CELLS:
            raise ConfigError(
                f"the cells of its sheet are not in order at {place!r:.20}, or go beyond "
                f"{MOST_COLUMNS:,} columns or {_MOST_CELLS:,} cells"
            )
        self._column = column
        self._has_formula = self._has_value = False

    def _place(self, place: str) -> int:
        found = _PLACE.fullmatch(place)
        if found is None or int(found[2]) != self._row:
            raise ConfigError(f"row {self._row} of its sheet has a cell {place!r:.20}")
        column = 0
        for letter in found[1]:
            column = 26 * column + ord(letter) - ord("A") + 1
        return column

    def _text(self, text: str) -> None:
        self._has_value |= self._in_value and bool(text)

    def _end(self, name: str) -> None:
        local = name.rpartition(":")[2]
        if local == "v":
            self._in_value = False
        elif local == "c" and self._has_formula and not self._has_value:
            self.uncomputed[self._row].add(self._column)


# ---- Rows


def _records(
    rows: Iterator[Any], uncomputed: Mapping[int, set[int]], columns: Collection[str]
) -> Iterator[Record | BadRow]:
    names: list[str] = []
    for line, cells in enumerate(rows, 1):
        if line not in uncomputed and all(cell.value is None for cell in cells):
            continue
        if not names:
            names = _names(cells)
            continue
        try:
            yield Record(line, _values(cells, names, uncomputed.get(line, set()), columns))
        except RowError as error:
            yield BadRow(line, str(error))


def _names(cells: Any) -> list[str]:
    names = ["" if cell.value is None else str(cell.value) for cell in cells]
    if (twice := given_twice(filter(None, names))) is not None:
        raise ConfigError(f"its sheet has two columns called {twice!r:.60}")
    return names


def _values(
    cells: Any, names: list[str], uncomputed: set[int], columns: Collection[str]
) -> dict[str, Any]:
    """The cells of a row by their columns.

    Raises:
        RowError: If one of a column that is read holds something that is no plain value, or one
            stands under no name.
    """
    values: dict[str, Any] = {}
    for number, (name, cell) in enumerate(zip_longest(names, cells, fillvalue=None), 1):
        value = None if cell is None else cell.value
        if not name:
            if value is not None:
                raise RowError(f"cell {number} of the row stands under no column name")
        elif name not in columns:
            values[name] = None
        elif number in uncomputed:
            raise RowError(
                f"the column {name!r} holds a formula that was never computed; open the workbook "
                "in a spreadsheet program and save it"
            )
        else:
            values[name] = None if cell is None else _plain(name, cell)
    return values


def _plain(name: str, cell: Any) -> Any:
    from openpyxl.utils.escape import unescape

    value = cell.value
    if value is not None and cell.data_type == "e":
        raise RowError(f"the column {name!r} holds the error {value!r:.20}")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return unescape(value) or None
    raise RowError(
        f"the column {name!r} holds a date; a spreadsheet program may have made it of a number. "
        "Format the column as numbers or text, and write the cell again"
    )
