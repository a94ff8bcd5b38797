"""What a user's extra pulls in may be used by anybody: permissive and weak-copyleft licences only.

A program under the GPL is run by its command and never installed with us.
"""

import ast
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
DEVELOPERS = {"test", "docs", "dev"}
EXTRAS = ["", *(PROJECT["optional-dependencies"].keys() - DEVELOPERS)]
WITH_TORCH = {"all", "ensemble", "gp", "learners", "sevennet"}
"""Extras that may pull in NVIDIA's runtimes, which have terms of their own."""
NOT_INSTALLED = {"botorch", "exchange-calendars"}
"""What developers need not install: nobody looks at these licences."""

PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python",
    "HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Unlicense", "Zlib",
}  # fmt: skip
WEAK_COPYLEFT = {
    "MPL-2.0",
    *(f"LGPL-{v}-{which}" for v in ("2.1", "3.0") for which in ("only", "or-later")),
}
AS_EXPRESSION = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    # matscipy: the text of the licence, which begins so.
    "GNU LESSER GENERAL PUBLIC LICENSE Version 2.1, February 1999": "LGPL-2.1-only",
    # biotraj: LGPLv2+. Of the later versions that it offers, 2.1 is one.
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    # OpenMM alone says so. Its files say MIT, and LGPL of what computes on GPUs.
    "Python Software Foundation License (BSD-like)": "MIT AND LGPL-3.0-or-later",
}
"""What older metadata say instead of an expression."""


def declared(package: Distribution) -> str:
    """The licence of a package as an expression, or what it says instead; "" for nothing."""
    found = package.metadata.json
    if expression := found.get("license_expression"):
        return str(expression)
    kinds = [c.rpartition(" :: ")[2] for c in found.get("classifier", ()) if "License" in c]
    title = " ".join(str(found.get("license", "")).partition("Copyright")[0].split())
    said = [AS_EXPRESSION.get(kind, kind) for kind in kinds] or [title]
    return " OR ".join(AS_EXPRESSION.get(text, text) for text in said)


def is_permitted(expression: str) -> bool:
    """Whether a licence lets everybody use the package with us."""
    try:
        canonical = str(canonicalize_license_expression(expression))
    except InvalidLicenseExpression:
        return False
    words = canonical.replace("(", " ( ").replace(")", " ) ").split()
    plain = [word for at, word in enumerate(words) if "WITH" not in words[max(0, at - 1) : at + 1]]
    fine = PERMISSIVE | WEAK_COPYLEFT
    told = [w.lower() if w in {"AND", "OR", "(", ")"} else str(w in fine) for w in plain]
    return _value(ast.parse(" ".join(told), mode="eval").body)


def _value(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        together = all if isinstance(node.op, ast.And) else any
        return together(map(_value, node.values))
    return isinstance(node, ast.Constant) and node.value is True


def needed(package: str, extra: str, seen: set[tuple[str, str]]) -> Iterator[Distribution]:
    """A package and all that it needs with one of its extras."""
    if (package, extra) in seen:
        return
    seen.add((package, extra))
    try:
        found = distribution(package)
    except PackageNotFoundError:
        assert package in NOT_INSTALLED, f"{package} is not installed, so nobody reads its licence"
        return
    yield found
    for text in found.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for each in ("", *requirement.extras):
                yield from needed(canonicalize_name(requirement.name), each, seen)


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_everybody_may_use_what_an_extra_pulls_in(extra: str) -> None:
    packages = list(needed(PROJECT["name"], extra, set()))
    assert len(packages) > 15
    refused = {
        package.name: declared(package)
        for package in packages
        if not is_permitted(declared(package))
        and not (package.name.startswith("nvidia-") and extra in WITH_TORCH)
    }
    assert refused == {}


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR BSD-3-Clause", True),
        ("MIT AND (AGPL-3.0-only OR Apache-2.0)", True),
        ("MIT AND AGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("LGPL-3.0-or-later", True),
        ("LicenseRef-nvidia", False),
        ("", False),
        ("see the file", False),
    ],
)
def test_what_a_licence_permits(expression: str, *, fine: bool) -> None:
    assert is_permitted(expression) is fine
