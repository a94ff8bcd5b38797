"""Source code: a digest of what a verifier's results depend on, for those that name no version.

It covers the code as a syntax tree, so that comments, layout and the file's name don't count, and
what the code reads: defaults, closures, constants of its module, functions and classes of the
user's own, each with what these read. It is equal on every Python. Installed packages count by
name and version. Anything else, such as an open file or a loaded model, is a `problem`: nobody
can tell whether it is the same tomorrow.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import importlib.util
import json
import logging
import os
import re
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.syntaxtree import (
    Encoded,
    class_node,
    dump,
    has_source,
    inner_function,
    names_read,
    node_of,
    plain,
)  # fmt: skip

PREFIX: Final = "source-"
"""How a version begins that is a digest of source code."""
_OWN: Final = "verifier_ladder"
_LARGEST: Final = 64 * 1024 * 1024
_BY_REPR: Final = frozenset(
    {
        "range", "slice", "decimal.Decimal", "fractions.Fraction", "datetime.date", "uuid.UUID",
        "datetime.datetime", "datetime.timedelta", "datetime.time", "datetime.timezone",
        "zoneinfo.ZoneInfo", "operator.itemgetter", "operator.attrgetter", "operator.methodcaller",
    }
)  # fmt: skip
_RUNS_TEXT: Final = (
    eval, exec, globals, builtins.__import__, importlib.import_module, importlib.__import__,
)  # fmt: skip
_UNSEEN: Final = "behind which code is run that can't be seen"
_SLOTS: Final = frozenset({"member_descriptor", "getset_descriptor", "_tuplegetter", "_abc_data"})


class Fingerprint(NamedTuple):
    """What is known of the code behind a verifier."""

    digest: str
    """SHA-256 of all that could be read; empty if there is nothing to read."""
    problem: str = ""
    """What it depends on that can't be read; empty if the digest covers everything."""
    place: str = ""
    """Where the code stands, as file and line."""


class SourceVersion:
    """The version of a verifier that names none: a digest of its source code.

    It is taken when first asked for, so that a function may use helpers that stand below it, and
    stays what it is.
    """

    def __get__(self, instance: Any, owner: type) -> str:
        """Take the digest, and keep it as the instance's own version."""
        if instance is None:
            return ""
        found = fingerprint(instance)
        if found.problem:
            raise ConfigError(
                f"verifier {instance.name} needs a version: without one, a digest of its source "
                f'code is the version, and {found.problem}. Give version="1", and raise it when '
                "results may change"
            )
        version = instance.__dict__["version"] = PREFIX + found.digest[:16]
        return version


def fingerprint(thing: object) -> Fingerprint:
    """Read the source code behind a function, a class or a verifier.

    Example:
        >>> one, other = fingerprint(lambda x: x + 1), fingerprint(lambda  y:  y + 2)
        >>> one.digest == other.digest, one.problem
        (False, '')
    """
    thing = _told(thing)
    if thing is None:
        return Fingerprint("", "there is none to read")
    reader = _Reader()
    try:
        text = json.dumps(reader.value(thing, (), own=True))
    except RecursionError:
        return Fingerprint("", "it nests too deeply to be read")
    if len(text) > _LARGEST:
        reader.blame((), "it reads more than 64 MB of data")
    return Fingerprint(hashlib.sha256(text.encode()).hexdigest(), reader.problem, _place(thing))


def _told(thing: object) -> object:
    """What a verifier says that its results depend on; other things as they are."""
    told = getattr(type(thing), "_depends_on", None)
    is_told = isinstance(told, types.FunctionType) and not isinstance(thing, type)
    return told(thing) if is_told else thing  # type: ignore[misc]


def _place(thing: object) -> str:
    while isinstance(thing, functools.partial | types.MethodType | list):
        if isinstance(thing, list):
            thing = thing[0]
        else:
            thing = thing.func if isinstance(thing, functools.partial) else thing.__func__
    if isinstance(thing, types.FunctionType):
        return f"{thing.__code__.co_filename}:{thing.__code__.co_firstlineno}"
    of = thing if isinstance(thing, type) else type(thing)
    for member in vars(of).values():
        if isinstance(member, types.FunctionType):
            return f"{member.__code__.co_filename}:{member.__code__.co_firstlineno}"
    return str(getattr(sys.modules.get(of.__module__), "__file__", "") or of.__module__)


class _Reader:
    """Reads one verifier's code; keeps the first thing that it can't read."""

    def __init__(self) -> None:
        self.problem = ""
        self._numbers: dict[int, int] = {}
        self._inside: set[int] = set()
        self._kept: list[object] = []

    def blame(self, path: tuple[str, ...], what: str) -> list[Any]:
        """Note what can't be read, and where it was met."""
        if not self.problem:
            where = " → ".join(f"`{name}`" for name in path)
            self.problem = f"it reads {where}, {what}" if path else what
        return ["unknown"]

    def value(self, value: Any, path: tuple[str, ...], *, own: bool = False) -> Encoded:
        """Encode whatever is met, as nested lists of text."""
        data = plain(value)
        if data is not None:
            return data
        for kinds, encode in self._encoders:
            if isinstance(value, kinds):
                return encode(value, path)
        told = _told(value)
        if told is not value:
            return self.value(told, path, own=True)
        return self._object(value, path, own=own)

    @cached_property
    def _encoders(self) -> list[tuple[Any, Callable[[Any, tuple[str, ...]], Encoded]]]:
        return [
            (types.FunctionType, self._function),
            (types.MethodType, self._method),
            (functools.partial, self._partial),
            ((staticmethod, classmethod), lambda v, path: self.value(v.__func__, path)),
            (property, lambda v, path: [self.value(f, path) for f in (v.fget, v.fset)]),
            (cached_property, lambda v, path: self.value(v.func, path)),
            (types.ModuleType, lambda v, path: self._module(v, (), path)),
            (type(_version_of), self._cached),
            (types.BuiltinFunctionType, self._builtin),
            (Enum, lambda v, path: [self.value(t, path) for t in (type(v), v.name, v.value)]),
            (type, self._class),
            ((dict, types.MappingProxyType), self._items),
            ((list, tuple), self._sequence),
            ((set, frozenset), self._set),
        ]

    # -- data ----------------------------------------------------------------------------------

    def _within(self, value: object, path: tuple[str, ...], parts: Iterator[Any]) -> list[Any]:
        if id(value) in self._inside:
            return self.blame(path, "which holds itself")
        self._inside.add(id(value))
        try:
            return list(parts)
        finally:
            self._inside.discard(id(value))

    def _sequence(self, value: Any, path: tuple[str, ...]) -> Encoded:
        items = self._within(value, path, (self.value(item, path) for item in value))
        return [self._type(value, path), items, self._attributes(value, path)]

    def _set(self, value: Any, path: tuple[str, ...]) -> Encoded:
        items = sorted(json.dumps(self.value(item, path)) for item in value)
        return [self._type(value, path), items, self._attributes(value, path)]

    def _items(self, value: Any, path: tuple[str, ...]) -> Encoded:
        pairs = ([self.value(k, path), self.value(v, path)] for k, v in value.items())
        factory = self.value(getattr(value, "default_factory", None), path)
        items = self._within(value, path, pairs)
        return [self._type(value, path), factory, items, self._attributes(value, path)]

    def _attributes(self, value: object, path: tuple[str, ...]) -> list[Any]:
        """What was put on an object: its dictionary, and the slots of all its classes."""
        state = object.__getstate__(value)
        parts = state if isinstance(state, tuple) else (state,)
        told = {name: v for part in parts if part for name, v in part.items()}
        told.pop("__wrapped__", None)  # A wrapper closes over what it calls.
        return [[name, self.value(v, (*path, name))] for name, v in sorted(told.items())]

    def _type(self, value: object, path: tuple[str, ...]) -> Encoded:
        of = type(value)
        return of.__name__ if of.__module__ == "builtins" else self.value(of, path)

    # -- functions -----------------------------------------------------------------------------

    def _again(self, value: object) -> Encoded | None:
        """A function or class that was met before; it may call itself."""
        if id(value) in self._numbers:
            return ["again", str(self._numbers[id(value)])]
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)
        return None

    def _method(self, value: types.MethodType, path: tuple[str, ...]) -> Encoded:
        return [self.value(value.__func__, path), self.value(value.__self__, path, own=True)]

    def _partial(self, value: functools.partial[Any], path: tuple[str, ...]) -> Encoded:
        made = self.value(value.func, path, own=True)
        if not value.args and not value.keywords:
            return made
        given = {**{str(n): v for n, v in enumerate(value.args)}, **value.keywords}
        return [made, *([name, self.value(v, (*path, name))] for name, v in given.items())]

    def _cached(self, value: Any, path: tuple[str, ...]) -> Encoded:
        return self.value(value.__wrapped__, path)

    def _builtin(self, value: Any, path: tuple[str, ...]) -> Encoded:
        if value.__self__ is not None and not isinstance(value.__self__, types.ModuleType):
            return ["bound", value.__name__, self.value(value.__self__, path)]
        if _runs_text(value):
            return self.blame(path or (value.__name__,), _UNSEEN)
        found = _library(value.__module__ or "builtins")
        if found is None:
            return self.blame(path or (value.__name__,), "which is compiled and has no source")
        return [found, value.__name__]

    def _function(self, function: types.FunctionType, path: tuple[str, ...]) -> Encoded:
        met = self._again(function)
        if met is not None:
            return met
        if _runs_text(function):
            return self.blame(path or (function.__name__,), _UNSEEN)
        if path and (named := _named(function)) is not None:
            return named
        cells = self._cells(function, path)
        library, node = _library_of(function), None
        if library is None or not path:  # A verifier itself is read wherever it stands.
            node = node_of(function)
        if library is not None:
            return [library, function.__code__.co_qualname, dump(node), *(
                [name, self.value(value, (*path, name))] for name, value in cells.items()
            )]  # fmt: skip
        if node is None:
            name = function.__qualname__
            return self.blame(
                path or (name,), "whose source can't be found or is not what runs (code that was "
                "made by exec, changed on disk after its import, or installed without source)",
            )  # fmt: skip
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        return [
            "function", dump(_undecorated(node, {**function.__globals__, **cells})),
            [self.value(value, (*path, "a default")) for value in defaults],
            self._names(function, cells, path), self._imports(node, path),
            self._attributes(function, path),
        ]  # fmt: skip

    def _cells(self, function: types.FunctionType, path: tuple[str, ...]) -> dict[str, Any]:
        found = {}
        names = function.__code__.co_freevars
        for name, cell in sorted(zip(names, function.__closure__ or (), strict=True)):
            try:
                found[name] = cell.cell_contents
            except ValueError:
                self.blame((*path, name), "which is not defined yet")
        return found

    def _names(
        self, function: types.FunctionType, cells: Mapping[str, Any], path: tuple[str, ...]
    ) -> list[Any]:
        """The closed-over and global names that a function reads, each with its value."""
        found = []
        for name, chains in sorted(names_read(function.__code__, frozenset(cells)).items()):
            where = (*path, name)
            if name in cells:
                value = cells[name]
            elif name in function.__globals__:
                value = function.__globals__[name]
            elif hasattr(builtins, name):
                value = getattr(builtins, name)
                if not _runs_text(value):
                    continue
            else:
                found.append(self.blame(where, "which is not defined yet"))
                continue
            if isinstance(value, types.ModuleType):
                members = [self._module(value, chain, where) for chain in sorted(chains)]
                found.append([name, members])
            else:
                found.append([name, self.value(value, where)])
        return found

    def _module(
        self, module: types.ModuleType, chain: tuple[str, ...], path: tuple[str, ...]
    ) -> Encoded:
        """What is read of a module: an installed one's name, or the values themselves."""
        library = _library(module.__name__)
        if library is not None:
            read = getattr(module, chain[0], None) if chain else None
            if read is sys.modules or _runs_text(read):
                return self.blame((*path, chain[0]), _UNSEEN)
            return [library, *chain]
        if not chain:
            return self.blame(path, f"the whole module {module.__name__}; name what you use of it")
        value = getattr(module, chain[0], None)
        path = (*path, chain[0])
        if isinstance(value, types.ModuleType):
            return self._module(value, chain[1:], path)
        if not hasattr(module, chain[0]):
            return self.blame(path, "which is not defined yet")
        return [chain[0], self.value(value, path)]

    def _imports(self, node: ast.AST, path: tuple[str, ...]) -> list[Any]:
        """What a function imports while it runs: installed packages by name."""
        found: list[Any] = []
        for each in ast.walk(node):
            names = [alias.name for alias in each.names] if isinstance(each, ast.Import) else []
            if isinstance(each, ast.ImportFrom):
                names = ["." * each.level + (each.module or "")]
            for name in names:
                library = None if name.startswith(".") else _library(name)
                if library is None:
                    what = "which it imports while it runs; import it at the top of the file"
                    library = str(self.blame((*path, name), what))
                found.append(library)
        return found

    # -- classes and objects -------------------------------------------------------------------

    def _class(self, of: type, path: tuple[str, ...]) -> Encoded:
        met = self._again(of)
        if met is not None:
            return met
        file = _file_of(of)
        known = file is None or _is_own(of.__module__) or _installed(file)
        library = _library(of.__module__) if known else None
        node = None if file is None or (library and path) else class_node(of, file)
        if library is not None:
            return [library, of.__qualname__, dump(node)]
        if node is None:
            return self.blame(path or (of.__name__,), "a class whose source can't be found")
        bases = [self.value(base, (*path, base.__name__)) for base in (type(of), *of.__bases__)]
        return ["class", dump(node), bases, self._members(of, path)]

    def _members(self, of: type, path: tuple[str, ...]) -> list[Any]:
        found = []
        for name, value in sorted(vars(of).items()):
            function = inner_function(value)
            generated = function is not None and _is_generated(of, name, function)
            is_special = name.startswith("__") and function is None and name != "__call__"
            hidden = issubclass(of, Enum) and function is None and (
                name.startswith("_") or isinstance(value, of)
            )  # fmt: skip
            told = type(value).__name__ in _SLOTS
            if not (generated or is_special or hidden or told):
                found.append([name, self.value(value, (*path, f"{of.__name__}.{name}"))])
        return found

    def _object(self, value: Any, path: tuple[str, ...], *, own: bool) -> Encoded:
        of = type(value)
        known = _known(value) or _named(value)
        if known is not None:
            return known
        if is_dataclass(value):
            held = [
                [f.name, self.value(getattr(value, f.name, None), path)] for f in fields(value)
            ]
            return [self.value(of, path), held, self._attributes(value, path)]
        if own:
            return [self.value(of, path), self._attributes(value, path)]
        return self.blame(
            path or (of.__qualname__,), f"a {of.__qualname__}, which can't be digested"
        )


def _known(value: Any) -> Encoded | None:
    """Objects of the standard library that are plain data, or change no result."""
    of = type(value)
    name = f"{of.__module__}.{of.__qualname__}".removeprefix("builtins.")
    if name in _BY_REPR:
        return [name, ascii(value)]
    if isinstance(value, PurePath):
        return ["path", value.as_posix()]
    if isinstance(value, re.Pattern):
        return ["pattern", ascii(value.pattern), str(value.flags)]
    if isinstance(value, logging.Logger):
        return ["logger"]
    if of.__module__ == "typing" or isinstance(value, types.GenericAlias | types.UnionType):
        return ["typing", ascii(value)]
    return None


# -- what is installed -------------------------------------------------------------------------


def _library(module: str) -> str | None:
    """An installed module's name with its package's version; None for others: they are read."""
    top = module.partition(".")[0]
    if top == "__main__":
        return None
    if top == _OWN:
        return module
    if top in sys.builtin_module_names:
        return module
    file = _module_file(module, top)
    if file is None or not _installed(file):
        return None
    if _installed(file) != "package":
        return module
    version = _version_of(top)
    return f"{module} {version}" if version else None


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _OWN


def _module_file(module: str, top: str) -> str | None:
    for name in (module, top):
        found = sys.modules.get(name)
        spec = getattr(found, "__spec__", None)
        if found is None and name == top:
            try:
                spec = importlib.util.find_spec(top)
            except (ImportError, ValueError):
                return None
        file = getattr(found, "__file__", None) or getattr(spec, "origin", None)
        if file in {"built-in", "frozen"}:
            return "<frozen >"
        if file:
            return str(file)
        for folder in getattr(spec, "submodule_search_locations", None) or ():
            return str(folder)
    return None


def _installed(file: str) -> str:
    """`python` for the standard library, `package` for what was installed, empty for others."""
    if file.startswith("<frozen "):
        return "python"
    parts = PurePath(os.path.realpath(file)).parts
    if {"site-packages", "dist-packages"} & set(parts):
        return "package"
    real = os.path.realpath(file)
    if any(real.startswith(folder + os.sep) for folder in _folders("purelib", "platlib")):
        return "package"
    is_python = any(f"{real}{os.sep}".startswith(f + os.sep) for f in _folders("stdlib"))
    return "python" if is_python else ""


@lru_cache(maxsize=4)
def _folders(*names: str) -> tuple[str, ...]:
    found = [sysconfig.get_path(name) for name in names]
    if "purelib" in names:
        found.append(site.getusersitepackages())
    else:
        found.append(sysconfig.get_path("platstdlib"))
        found.append(str(Path(os.__file__).parent))
    return tuple({os.path.realpath(folder) for folder in found})


@lru_cache(maxsize=256)
def _version_of(package: str) -> str:
    """The version of the distribution that holds a package; often one of another name."""
    from importlib.metadata import version

    holders = _distributions().get(package, ())
    found = sorted({f"{name} {version(name)}" for name in holders})
    return ", ".join(found) or str(getattr(sys.modules.get(package), "__version__", ""))


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    from importlib.metadata import packages_distributions

    return packages_distributions()


def _library_of(function: types.FunctionType) -> str | None:
    module = str(function.__globals__.get("__name__", ""))
    file = function.__code__.co_filename
    if file.startswith("<") and not file.startswith("<frozen "):
        return None if has_source(file) else _library(module)
    if _is_own(module) or _installed(file):
        return _library(module)
    return None


def _runs_text(value: object) -> bool:
    return any(value is each for each in _RUNS_TEXT)


def _named(value: object) -> Encoded | None:
    """A thing of an installed package that stands there under its own name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    library = _library(module)
    if library is None or getattr(sys.modules.get(module), name, None) is not value:
        return None
    return [library, name]


# -- source ------------------------------------------------------------------------------------


def _is_generated(of: type, name: str, function: types.FunctionType) -> bool:
    """Whether a class got a method from a library that writes methods."""
    file = function.__code__.co_filename
    is_special = name.startswith("__") and is_dataclass(of)
    return not has_source(file) or (is_special and bool(_installed(file)))


def _file_of(of: type) -> str | None:
    for value in vars(of).values():
        function = inner_function(value)
        if function is not None and function.__qualname__.startswith(f"{of.__qualname__}."):
            file = function.__code__.co_filename
            if not _installed(file) and has_source(file):
                return file
    found = getattr(sys.modules.get(of.__module__), "__file__", None)
    return str(found) if found else None


def _undecorated(node: ast.AST, names: Mapping[str, Any]) -> ast.AST:
    """The function without this project's own decorators: they hold no part of its results."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node
    bare = copy(node)
    bare.decorator_list = [each for each in node.decorator_list if not _is_ours(each, names)]
    return bare


def _is_ours(decorator: ast.expr, names: Mapping[str, Any]) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    chain: list[str] = []
    while isinstance(decorator, ast.Attribute):
        chain.insert(0, decorator.attr)
        decorator = decorator.value
    found = names.get(decorator.id) if isinstance(decorator, ast.Name) else None
    for name in chain:
        found = getattr(found, name, None)
    return _is_own(str(getattr(found, "__module__", "")))
