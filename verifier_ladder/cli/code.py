"""Code of the user's own that a command needs: modules and files that register verifiers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

Imported = Annotated[
    list[str] | None,
    typer.Option("--import", help="Module or file.py that registers verifiers; may be repeated."),
]


def import_code(where: str) -> ModuleType:
    """Import a module by name, or a file by its path, and hold its verifiers.

    Raises:
        ConfigError: If it can't be imported for whatever reason.

    Example:
        >>> import_code("json").__name__
        'json'
    """
    path = Path(where).absolute()
    if path.suffix == ".py" and not path.exists():
        raise ConfigError(f"{where} can't be imported: there is no such file")
    folder, name = (
        (str(path.parent), path.stem) if path.suffix == ".py" else (str(Path.cwd()), where)
    )
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(name)
    except Exception as error:
        raise ConfigError(f"{where} can't be imported: {type(error).__name__}: {error}") from error
    if hasattr(found, "__path__") and getattr(found, "__file__", None) is None:
        raise ConfigError(f"{where} is a folder without code; name a module or a file.py")
    hold(list(vars(found).values()))
    return found


def import_all(places: Iterable[str] | None) -> None:
    """Import what `--import` names."""
    for where in places or ():
        import_code(where)


def hold(found: Iterable[object]) -> None:
    """Hold verifiers, alone or in ladders, so that rows of a ledger can select them.

    Args:
        found: Objects of any kind, such as all that stand in a module.
    """
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.registry import REGISTRY
    from verifier_ladder.verifiers import Verifier

    for value in found:
        if isinstance(value, Ladder):
            REGISTRY.hold(value.verifiers, [value.canonicaliser])
        elif isinstance(value, Verifier):
            REGISTRY.hold([value])


def object_at(place: str) -> Any:
    """Find anything, as `module:attribute` or `file.py:attribute`, or a verifier by its name.

    A verifier's class is made a verifier.

    Raises:
        ConfigError: If there is none.
    """
    from verifier_ladder.registry import REGISTRY
    from verifier_ladder.verifiers import Verifier

    where, colon, attribute = place.rpartition(":")
    if not colon:
        file = f"{place.removesuffix('.py')}.py"
        if place not in REGISTRY.names() and Path(file).exists():
            raise ConfigError(f"name what is meant in {file}, such as {file}:accuracy")
        return REGISTRY.get(place)
    found: Any = import_code(where)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConfigError(f"{where} has no {attribute}; check the name after the colon")
        found = getattr(found, name)
    return found() if isinstance(found, type) and issubclass(found, Verifier) else found


def found_at(place: str) -> Verifier:
    """Find a verifier by registered name, as `module:attribute` or as `file.py:attribute`.

    Raises:
        ConfigError: If there is none.
    """
    from verifier_ladder.verifiers import Verifier

    found = object_at(place)
    if not isinstance(found, Verifier):
        raise ConfigError(
            f"{place} is not a verifier; decorate the function with @vl.verifier(...), or for an "
            "existing reward function use vl.wrap(...)"
        )
    return found
