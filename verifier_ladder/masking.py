"""Masking: secrets are taken out of whatever leaves a verifier, as far as they can be told."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, urlsplit

from verifier_ladder.artifact import Artifact

T = TypeVar("T")
_LEAST = 4
"""Characters of a form that is looked for; shorter ones stand in any text."""
_LEAST_LINE = 8
_LEAST_LEFT = 8
"""Characters that are left of a secret at the end of a text that does not say it was cut."""
_NAMED = ("scores", "artifacts")
"""Fields of a verdict whose keys are names, which nothing in brackets can be."""
_CUTS = re.compile(r"( ?…(?: \[cut\])? ?)")
"""Where something of ours has shortened a text."""


class Mask:
    """Replaces the values of secrets by their names.

    It knows a value as it is, in base64 (also inside of longer text that was encoded), URL-quoted,
    escaped as in JSON, Python or HTML, and in hexadecimal; the lines of a long value, and the
    password of an address, by themselves. What was cut at the start or the end is known by the
    part that is left. Spelled in any other way, a secret is not known: a mask stops accidents.

    Example:
        >>> mask = Mask({"JUDGE_TOKEN": "s3cret/token"})
        >>> mask("refused s3cret/token, s3cret%2Ftoken, czNjcmV0L3Rva2Vu")
        'refused [JUDGE_TOKEN], [JUDGE_TOKEN], [JUDGE_TOKEN]'
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """Mask these secrets, by name."""
        self._secrets = dict(secrets or {})
        forms = {
            form: name
            for name, value in self._secrets.items()
            for form in _forms(value)
            if len(form) >= _LEAST
        }
        self._names = forms
        self._ordered = sorted(forms, key=len, reverse=True)  # The longest first.
        self._find = re.compile("|".join(map(re.escape, self._ordered)))

    def __bool__(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._ordered)

    def and_also(self, secrets: Mapping[str, str]) -> Mask:
        """A mask of these too; itself if it knows them."""
        if secrets.items() <= self._secrets.items():
            return self
        return Mask({**self._secrets, **secrets})

    def __call__(self, value: T) -> T:
        """The same without secrets: a text, or a record, a list or a table that holds texts."""
        return self._masked(value) if self._ordered else value

    def _masked(self, value: Any) -> Any:
        match value:
            case str() if not isinstance(value, Enum):
                return self._text(value)
            case bytes():
                text = value.decode("utf-8", "surrogateescape")
                return self._text(text).encode("utf-8", "surrogateescape")
            case Mapping():
                return {self._masked(name): self._masked(item) for name, item in value.items()}
            case list() | tuple():
                items = [self._masked(item) for item in value]
                return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._record(value)
        return value

    def _record(self, value: Any) -> Any:
        if isinstance(value, Artifact):  # Its digest is that of its bytes.
            return value.masked_by(self._masked)
        before = {field.name: getattr(value, field.name) for field in fields(value)}
        after = {
            name: self._named(item) if name in _NAMED else self._masked(item)
            for name, item in before.items()
        }
        changed = {name: item for name, item in after.items() if item != before[name]}
        return replace(value, **changed) if changed else value

    def _named(self, items: Mapping[str, Any]) -> dict[str, Any]:
        """What has names, masked; one that holds a secret is replaced, for it must stay a name."""
        return {
            name if self._text(name) == name else f"masked_{place}": self._masked(item)
            for place, (name, item) in enumerate(items.items(), 1)
        }

    def _text(self, text: str) -> str:
        text = self._find.sub(lambda found: f"[{self._names[found[0]]}]", text)
        parts = _CUTS.split(text)  # What was kept, a mark, what was kept, …
        last = len(parts) - 1
        for place in range(0, last + 1, 2):
            start = _LEAST if place else _LEAST_LEFT
            end = _LEAST if place < last else _LEAST_LEFT
            parts[place] = self._end(self._start(parts[place], start), end)
        return "".join(parts)

    def _start(self, text: str, least: int) -> str:
        """A text that may begin with the rest of a secret, without it."""
        for form in self._ordered:
            for count in range(min(len(form) - 1, len(text)), least - 1, -1):
                if text.startswith(form[-count:]):
                    return f"[{self._names[form]}]{text[count:]}"
        return text

    def _end(self, text: str, least: int) -> str:
        """A text that may end with the beginning of a secret, without it."""
        for form in self._ordered:
            for count in range(min(len(form) - 1, len(text)), least - 1, -1):
                if text.endswith(form[:count]):
                    return f"{text[:-count]}[{self._names[form]}]"
        return text


def _forms(value: str) -> Iterator[str]:
    """Every way in which a secret's value is known."""
    for whole in dict.fromkeys((value, value.strip())):  # As a header or an address takes it.
        yield from _spellings(whole)
    lines = value.split("\n")
    for line in lines if len(lines) > 1 else ():
        if len(line.strip()) >= _LEAST_LINE:
            yield from _spellings(line.strip())
    if "://" in value and (password := _password(value)):
        yield from _spellings(password)


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def _spellings(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogateescape")
    yield value
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    escaped = html.escape(value)
    yield from (escaped, escaped.replace("&#x27;", "&#39;").replace("&quot;", "&#34;"))
    yield from (repr(value)[1:-1], raw.hex(), raw.hex().upper())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        for before in range(3):
            first, last = -(-8 * before // 6), 8 * (before + len(raw)) // 6
            yield encode(bytes(before) + raw + bytes(2)).decode()[first:last]


NO_MASK = Mask()
"""Hides nothing."""
