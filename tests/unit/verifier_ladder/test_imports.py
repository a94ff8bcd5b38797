"""What is told of an import."""

import json

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.badrow import BadRow
from verifier_ladder.imports import MOST_BAD_ROWS, ImportReport

COUNTS = st.integers(0, 10**9)
REPORTS = st.builds(
    ImportReport, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS,
    st.lists(st.builds(BadRow, COUNTS, st.text(max_size=20)), max_size=4),
)  # fmt: skip


@given(REPORTS, REPORTS)
def test_two_reports_together_count_both(one: ImportReport, other: ImportReport) -> None:
    both = one + other

    assert one.rows + other.rows == both.rows
    assert one.taught + other.taught == both.taught
    assert one.bad_rows + other.bad_rows == both.bad_rows


@given(REPORTS)
def test_a_report_is_json(report: ImportReport) -> None:
    back = json.loads(json.dumps(report.as_json()))

    assert (report.verdicts, report.known) == (back["verdicts"], back["known"])
    assert [row.line for row in report.bad_rows] == [row["line"] for row in back["bad_rows"]]


def test_the_summary_names_the_first_bad_rows_and_counts_the_rest() -> None:
    bad = [BadRow(line, f"reason {line}") for line in range(1, MOST_BAD_ROWS + 4)]

    told = ImportReport(rows=100, bad_rows=bad).summary()

    assert f"line {MOST_BAD_ROWS}: reason {MOST_BAD_ROWS}" in told
    assert f"reason {MOST_BAD_ROWS + 1}" not in told
    assert "3 more bad rows" in told


def test_what_was_waited_for_is_told_only_if_there_was_something() -> None:
    assert "waited" not in ImportReport(verdicts=2).summary()
    assert "1 of the new ones had been waited for" in ImportReport(2, 2, answered=1).summary()


def test_text_of_a_row_can_not_paint_the_terminal() -> None:
    assert "\x1b" not in ImportReport(bad_rows=[BadRow(1, "a\x1b[31mb")]).summary()
