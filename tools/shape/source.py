"""What can be counted in the source: sizes, imports, classes."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "verifier_ladder"
FOLDERS = (PACKAGE, "tiers", "scheduler")
PLUGINS = ("/cli", "/learners", "/policies", "tiers/")
"""Folders that hold one file for each command, learner, policy or verifier."""
_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
SMALL = 60
"""Lines below which a file is a small one."""
_NAMED = 12
"""Members of a circle that are named."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class Module:
    """One file of the library."""

    path: str
    """From the project's root."""
    text: str

    @cached_property
    def name(self) -> str:
        """What it is imported as."""
        parts = self.path.removesuffix(".py").split("/")
        if parts[0] != PACKAGE:
            parts.insert(0, PACKAGE)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        """All lines."""
        return self.text.count("\n")

    @cached_property
    def docstrings(self) -> set[int]:
        """Numbers of the lines that hold docstrings, those below attributes too."""
        texts = (
            node
            for node in self.nodes
            if isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        return {line for text in texts for line in range(text.lineno, (text.end_lineno or 0) + 1)}

    @cached_property
    def code(self) -> int:
        """Lines that hold code."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        held = {
            line
            for token in tokens
            if token.type not in _LAYOUT
            for line in range(token.start[0], token.end[0] + 1)
        }
        return len(held - self.docstrings)

    @cached_property
    def functions(self) -> list[int]:
        """Lines of each function, with its docstring."""
        return [_length(node) for node in self.nodes if isinstance(node, _Function)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """The classes."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    def imports(self, known: Mapping[str, Module]) -> Iterator[tuple[str, bool]]:
        """First-party modules that it imports, and whether inside a function."""
        top = set(map(id, self.tree.body))
        for node in _without_typing(self.tree):
            for name in _imported(node, known):
                if name != self.name:
                    yield name, id(node) not in top


def measure_source(root: Path) -> dict[str, int | float | str]:
    """All figures that the source tells, by name."""
    modules = {module.name: module for module in read(root)}
    return {**sizes(list(modules.values())), **classes(modules), **imports(modules)}


def read(root: Path) -> Iterator[Module]:
    """Every file of the library."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.py")):
            yield Module(str(file.relative_to(root)), file.read_text(encoding="utf-8"))


def sizes(modules: Sequence[Module]) -> dict[str, int | float | str]:
    """Files, lines and functions."""
    code, lines = sum(m.code for m in modules), [m.lines for m in modules]
    functions = [length for module in modules for length in module.functions]
    folders = Counter(m.path.rpartition("/")[0] for m in modules)
    fullest = max(
        (count, folder)
        for folder, count in folders.items()
        if folder != PACKAGE and not any(part in f"{folder}/" for part in PLUGINS)
    )
    return {
        "lines": sum(lines),
        "lines of code": code,
        "statements": sum(isinstance(node, ast.stmt) for m in modules for node in m.nodes),
        "docstring lines per line of code": round(
            sum(len(m.docstrings) for m in modules) / code, 2
        ),
        "files": len(modules),
        f"files under {SMALL} lines": sum(m.lines < SMALL for m in modules if not _is_init(m)),
        f"entries in {PACKAGE}/": len(
            {m.path.split("/")[1] for m in modules if m.path.startswith(PACKAGE)}
        ),
        "fullest library folder": f"{fullest[0]} files in {fullest[1]}",
        "file, median": share(lines, 0.5),
        "file, 90 %": share(lines, 0.9),
        "file, longest": _longest(modules),
        "function, median": share(functions, 0.5),
        "function, 90 %": share(functions, 0.9),
        "function, longest": max(functions),
        "fmt: skip and fmt: off": sum(
            m.text.count("# fmt: skip") + m.text.count("# fmt: off") for m in modules
        ),
    }


def classes(modules: Mapping[str, Module]) -> dict[str, int | float | str]:
    """Inheritance, and public methods."""
    found = {node.name: node for module in modules.values() for node in module.classes}
    bases = {name: [_base(base) for base in node.bases] for name, node in found.items()}
    depth, deepest = max((_depth(name, bases), name) for name in found)
    methods, widest = max((len(_public(name, found, bases)), name) for name in found)
    return {
        "levels of inheritance": f"{depth} ({deepest})",
        "public methods of a class": f"{methods} ({widest}, inherited ones too)",
    }


def imports(modules: Mapping[str, Module]) -> dict[str, int | float | str]:
    """Circles, importers, and imports inside functions."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    inside = 0
    for module in modules.values():
        for name, is_inside in module.imports(modules):
            graph[module.name].add(name)
            inside += is_inside
    importers = Counter(name for targets in graph.values() for name in targets)
    packages: dict[str, set[str]] = {}
    for name, targets in graph.items():
        own = packages.setdefault(_package(name), set())
        own |= {_package(target) for target in targets} - {_package(name)}
    return {
        "files with one importer": sum(
            importers[m.name] == 1 for m in modules.values() if not _is_init(m)
        ),
        "first-party imports inside functions": inside,
        "circles of files": _told(circles(graph)),
        "circles of packages": _told(circles(packages)),
    }


def circles(graph: _Graph) -> list[list[str]]:
    """Sets of nodes each of which reaches every other one, largest first."""
    reach = {node: _reached(node, graph) for node in graph}
    found, seen = [], set()
    for node in graph:
        circle = {other for other in reach[node] if node in reach[other]} | {node}
        if node not in seen and len(circle) > 1:
            found.append(sorted(circle))
        seen |= circle
    return sorted(found, key=len, reverse=True)


def share(values: Sequence[int], part: float) -> int:
    """The value below or at which this part of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]


def _reached(start: str, graph: _Graph) -> set[str]:
    """Nodes to which a way leads from this one."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph.get(ahead.pop(), set()) - reached
        reached |= new
        ahead += new
    return reached


def _without_typing(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _without_typing(node)


def _imported(node: ast.AST, known: Mapping[str, Module]) -> list[str]:
    """First-party modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in known]
    if not isinstance(node, ast.ImportFrom) or node.module not in known:
        return []
    inner = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in known else str(node.module) for name in inner]


def _package(module: str) -> str:
    """The folder, or the file that stands directly in the package."""
    return ".".join(module.split(".")[:2])


def _base(node: ast.expr) -> str:
    return ast.unparse(node).partition("[")[0].rpartition(".")[2]


def _depth(name: str, bases: Mapping[str, Sequence[str]], below: tuple[str, ...] = ()) -> int:
    """How many first-party classes stand above this one in the longest line."""
    if name in below or name not in bases:
        return 0
    return max(
        (1 + _depth(base, bases, (*below, name)) for base in bases[name] if base in bases),
        default=0,
    )


def _public(
    name: str, found: Mapping[str, ast.ClassDef], bases: Mapping[str, Sequence[str]]
) -> set[str]:
    """Names of its public methods, with those it inherits."""
    if name not in found:
        return set()
    own = {
        node.name
        for node in found[name].body
        if isinstance(node, _Function) and not node.name.startswith("_")
    }
    return own.union(*(_public(base, found, bases) for base in bases[name] if base != name))


def _length(node: _Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_init(module: Module) -> bool:
    return module.path.endswith("__init__.py")


def _longest(modules: Sequence[Module]) -> str:
    longest = max(modules, key=lambda module: module.lines)
    return f"{longest.lines} ({longest.path})"


def _told(found: Sequence[Sequence[str]]) -> str:
    """Each circle's size, and the members of the largest."""
    if not found:
        return "none"
    others = "".join(f", {len(circle)}" for circle in found[1:])
    names = ", ".join(name.removeprefix(f"{PACKAGE}.") for name in found[0][:_NAMED])
    return f"{len(found[0])}{others} ({names}{', …' if len(found[0]) > _NAMED else ''})"
