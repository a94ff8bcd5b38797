"""Canonicalisers: they give every spelling of one thing the same form, and so the same key."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from verifier_ladder.errors import AnswerError, ConfigError
from verifier_ladder.keys import digest

LARGEST_FORM = 16 * 1024 * 1024
"""Characters or bytes of the longest canonical form."""


class Canonicaliser:
    """Brings candidates of one kind to canonical form; runs in the worker pool, for it can crash.

    A subclass sets `kind`, `name`, `version`, and overrides `canonicalise`.
    """

    kind: str = ""
    name: str = ""
    version: str = "1"
    inline: ClassVar[bool] = False
    """Whether it is trusted never to hang or crash, so that it may run in the caller's process."""
    timeout: float = 10.0
    """Seconds one candidate may take."""
    control: str | bytes | None = None
    """Content that is certainly harmless; see `Verifier.control`."""

    def __init__(self, **settings: Any) -> None:
        """Keep the settings that affect the canonical form.

        Raises:
            ConfigError: If the class lacks a kind, a name or a version.
        """
        if not (self.kind and self.name and self.version):
            raise ConfigError(
                f"canonicaliser {type(self).__name__} needs a kind, a name and a version; "
                "canonical forms are filed under them"
            )
        self.settings: dict[str, Any] = settings

    @cached_property
    def digest(self) -> bytes:
        """Digest of all that affects the canonical form."""
        return digest({"name": self.name, "version": self.version, "settings": self.settings})

    def canonicalise(self, content: str | bytes) -> str | bytes:
        """Give the canonical form.

        Raises:
            CandidateError: If the content is not of this kind: the candidate is rejected.
        """
        del content
        raise TypeError(f"{type(self).__name__} has no canonicalise method")


def canonical_form(by: Canonicaliser, content: str | bytes) -> str | bytes:
    """The form that a canonicaliser gives, as plain text or bytes.

    Raises:
        AnswerError: If it gives anything else, or too much.
    """
    form: Any = by.canonicalise(content)
    if isinstance(form, (str, bytes)) and len(form) <= LARGEST_FORM:
        return str.__str__(form) if isinstance(form, str) else bytes(form)
    size = f" of length {len(form)}" if hasattr(form, "__len__") else ""
    raise AnswerError(
        f"canonicaliser {by.name} returned a {type(form).__name__}{size}; return text or bytes of "
        f"at most {LARGEST_FORM}"
    )


class Identity(Canonicaliser):
    """Takes content as it is: every spelling is its own thing."""

    name = "identity"
    inline = True

    def __init__(self, kind: str) -> None:
        """Serve one kind."""
        self.kind = kind
        super().__init__()

    def canonicalise(self, content: str | bytes) -> str | bytes:
        """Return the content unchanged."""
        return content
