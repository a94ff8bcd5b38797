"""Sphinx configuration. The build needs no network."""

import tomllib
from pathlib import Path

import verifier_ladder.server.app  # noqa: F401 - autodoc's way of importing it breaks its models.

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = "verifier-ladder"
author = _project["authors"][0]["name"]
project_copyright = author
version = release = _project["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
nitpicky = False  # References into other projects would need their inventories from the network.
suppress_warnings = ["ref.python"]  # Short names in annotations may fit two classes.

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]  # Some learners' helpers are described without it.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
default_role = "code"  # Docstrings write names between single backquotes.
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "verifier-ladder"
