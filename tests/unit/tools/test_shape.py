"""The measures of the library's shape count what they say."""

from pathlib import Path
from textwrap import dedent

import pytest
from shape import source, way


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A small library: a circle of two files, one of two packages, one lonely file."""
    files = {
        "verifier_ladder/__init__.py": "",
        "verifier_ladder/nouns.py": '''
            """A docstring of
            two lines."""

            LIMIT = 3  # A comment beside code.
            # A comment alone.


            class Base:
                def one(self): ...
                def _own(self): ...


            class Sub(Base):
                def two(self):
                    from verifier_ladder.ledger import log
                    return log
            ''',
        "verifier_ladder/ledger/__init__.py": "",
        "verifier_ladder/ledger/log.py": "from verifier_ladder.ledger.rows import Row\n",
        "verifier_ladder/ledger/rows.py": """
            import verifier_ladder.ledger.log
            from verifier_ladder.nouns import Base
            Row = Base
            """,
        "scheduler/climb.py": """
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from verifier_ladder.nouns import Base
            """,
        "tiers/fast.py": "x = [\n    1,\n]  # fmt: skip\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"))
    return tmp_path


def test_code_is_neither_comment_nor_docstring_nor_blank(library: Path) -> None:
    modules = {module.path: module for module in source.read(library)}

    assert 8 == modules["verifier_ladder/nouns.py"].code
    assert 2 == len(modules["verifier_ladder/nouns.py"].docstrings)
    assert 3 == modules["tiers/fast.py"].code


def test_imports_inside_functions_close_circles_and_those_for_type_checkers_do_not(
    library: Path,
) -> None:
    modules = {module.name: module for module in source.read(library)}

    figures = source.imports(modules)

    assert 1 == figures["first-party imports inside functions"]
    assert "3 (ledger.log, ledger.rows, nouns)" == figures["circles of files"]
    assert "2 (ledger, nouns)" == figures["circles of packages"]
    assert not list(modules["verifier_ladder.scheduler.climb"].imports(modules))


def test_folders_classes_and_layout_marks_are_counted(library: Path) -> None:
    figures = source.measure_source(library)

    assert 7 == figures["files"]
    assert 3 == figures["entries in verifier_ladder/"]
    assert 1 == figures["fmt: skip and fmt: off"]
    assert "1 (Sub)" == figures["levels of inheritance"]
    assert "2 (Sub, inherited ones too)" == figures["public methods of a class"]


def test_the_way_of_a_sample_counts_calls_within_its_time_thread_by_thread() -> None:
    noted = {
        ("1", "main"): [(0, "before"), (10, "a"), (11, "b"), (12, "b"), (13, "a"), (99, "after")],
        ("2", "worker"): [(11, "c"), (12, "c")],
    }

    assert (3, 2, 6) == way.count(noted, 5, 20)
