"""Vectors: drawings made elsewhere, rebuilt from the few things a drawing needs."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from markupsafe import Markup

_SIZE = re.compile(r"[-+0-9. ,]{1,60}")
_PATH = re.compile(r"[MLHVCSQTAZmlhvcsqtaz0-9eE+\-., ]{1,20000}")
_NUMBER = re.compile(r"[-+]?[0-9]{1,6}(?:\.[0-9]{1,6})?")
_COLOUR = re.compile(r"(fill|stroke):(#[0-9A-Fa-f]{6}|none)")
_WIDTH = re.compile(r"stroke-width:([0-9.]{1,6})(?:px)?")
_CLASSES = {
    "#000000": "k", "#0000FF": "n", "#3333FF": "n", "#FF0000": "o", "#33CCCC": "f", "#00CC00": "l",
    "#7F4C19": "l", "#CCCC00": "s", "#FF7F00": "p", "#A01EEF": "l", "none": "x", "#FFFFFF": "x",
}  # fmt: skip
LARGEST = 200_000


def sanitise(drawing: str, title: str) -> Markup | None:
    """Rebuild a drawing from its paths and ellipses; everything else is dropped.

    Colours become classes, so that the drawing follows the page's light and dark themes.

    Args:
        drawing: SVG as text, believed hostile.
        title: What it shows, for those who can't see it.

    Returns:
        Safe SVG, or None if the drawing is not one.
    """
    if len(drawing) > LARGEST or "<!DOCTYPE" in drawing or "<!ENTITY" in drawing:
        return None  # No entities: they could expand without bound.
    try:
        root = ET.fromstring(drawing)  # noqa: S314 - without a DTD there is nothing to expand
    except ET.ParseError:
        return None
    box = root.get("viewBox", "")
    if root.tag.rpartition("}")[2] != "svg" or not _SIZE.fullmatch(box):
        return None
    marks = [mark for mark in map(_mark, root.iter()) if mark is not None]
    return Markup(
        '<svg class="molecule" viewBox="{}" role="img" aria-label="{}">{}</svg>'
    ).format(box, title, Markup().join(marks)) if marks else None  # fmt: skip


def _mark(element: ET.Element) -> Markup | None:
    name = str(element.tag).rpartition("}")[2]  # A comment's tag is a function.
    style = f"{element.get('style', '')};fill:{element.get('fill', '')}"
    if name == "path":
        path = " ".join(element.get("d", "").split())
        if _PATH.fullmatch(path):
            return _drawn(Markup('<path class="{}" {}d="{}"/>'), style, path)
    if name == "ellipse":
        places = [element.get(key, "") for key in ("cx", "cy", "rx", "ry")]
        if all(map(_NUMBER.fullmatch, places)):
            return _drawn(
                Markup('<ellipse class="{}" {}cx="{}" cy="{}" rx="{}" ry="{}"/>'), style, *places
            )
    return None


def _drawn(form: Markup, style: str, *values: str) -> Markup:
    colours = {key: value.upper() if value != "none" else value
               for key, value in reversed(_COLOUR.findall(style))}  # fmt: skip
    names = [f"{key[0]}{_CLASSES.get(value, 'k')}" for key, value in sorted(colours.items())]
    width = _WIDTH.search(style)
    thick = Markup('stroke-width="{}" ').format(width[1]) if width else Markup()
    return form.format(" ".join(names), thick, *values)
