"""Code of the user's own that a command needs: modules and files that register verifiers."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

Imported = Annotated[
    list[str] | None,
    typer.Option("--import", help="Module or file.py that registers verifiers; may be repeated."),
]


def import_code(where: str) -> ModuleType:
    """Import a module by name, or a file by its path.

    Raises:
        ConfigError: If it can't be imported for whatever reason.

    Example:
        >>> import_code("json").__name__
        'json'
    """
    path = Path(where).absolute()
    folder, name = (
        (str(path.parent), path.stem) if path.suffix == ".py" else (str(Path.cwd()), where)
    )
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ConfigError(f"{where} can't be imported: {type(error).__name__}: {error}") from error


def verifiers_of(module: ModuleType) -> list[Verifier]:
    """The verifiers that a module holds by name, alone or in a ladder."""
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.verifiers import Verifier

    found: list[Verifier] = []
    for value in vars(module).values():
        if isinstance(value, Ladder):
            found += value.verifiers
        elif isinstance(value, Verifier):
            found.append(value)
    return found
