"""The registry: where verifiers are found by name and version.

Verifiers come from the decorator, and from the entry points of installed packages, which are
imported only when one of their names is asked for. A package that can't be imported is a
`Problem` to report, never a reason to fail.

A program's own code and its TOML files *make* verifiers, here. A row of a ledger only *selects*
one that is held already: `verifier_ladder.recorded`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

from verifier_ladder.canonicaliser import Canonicaliser, Identity
from verifier_ladder.containment import text_of
from verifier_ladder.errors import ConfigError, LadderError, PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from verifier_ladder.verifiers import Verifier

VERIFIER_GROUP = "verifier_ladder.verifiers"
CANONICALISER_GROUP = "verifier_ladder.canonicalisers"
_MOST = 256
"""Verifiers of one name and version that are held; a notebook may make many, one by one."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A plugin that is installed and can't be loaded."""

    name: str
    package: str
    error: str


class Registry:
    """Verifiers by name and version, and canonicalisers by kind."""

    def __init__(self) -> None:
        """Start empty; entry points are read when a name is first looked up."""
        self._lock = RLock()
        self._verifiers: dict[str, list[Verifier]] = {}
        self._canonicalisers: dict[str, Canonicaliser] = {}
        self._others: list[Canonicaliser] = []
        self._found: dict[str, dict[str, EntryPoint]] | None = None

    def add(self, verifier: Verifier) -> None:
        """Register a verifier.

        The same name and version again takes its place for who asks by name; both can still be
        selected by their digests.
        """
        with self._lock:
            held = self._verifiers.setdefault(verifier.name, [])
            held[:] = [other for other in held if other is not verifier][-_MOST:]
            held.append(verifier)  # The last one registered stands last.

    def hold(
        self, verifiers: Iterable[Verifier], canonicalisers: Iterable[Canonicaliser] = ()
    ) -> None:
        """Make verifiers and canonicalisers selectable; who asks by name gets the same as before.

        Args:
            verifiers: Those of a module or a ladder.
            canonicalisers: Those of its ladders.
        """
        with self._lock:
            for verifier in verifiers:
                held = self._verifiers.setdefault(verifier.name, [])
                if not any(other is verifier for other in held):
                    held.insert(0, verifier)
            self._others += [by for by in canonicalisers if by not in self._others]

    def names(self) -> list[str]:
        """Every name that can be looked up, without importing anything."""
        with self._lock:
            return sorted(set(self._verifiers) | set(self._entry_points(VERIFIER_GROUP)))

    def get(self, name: str, version: str | None = None) -> Verifier:
        """Find a verifier.

        Args:
            name: Its name.
            version: Its version; the last one registered if left out.

        Raises:
            ConfigError: If no verifier has this name or version.
            PluginError: If the package that offers it can't be imported.
        """
        if name not in self._verifiers and (point := self._entry_points(VERIFIER_GROUP).get(name)):
            self.add(_offered(point))  # Imports, so it must not hold the lock.
        with self._lock:
            held = self._verifiers.get(name)
            if not held:
                raise ConfigError(self._unknown(name))
            if version is None:
                return held[-1]
            for verifier in reversed(held):
                if _version(verifier) == version:
                    return verifier
            there = ", ".join(sorted({_version(v) or "one that needs a version" for v in held}))
            raise ConfigError(f"verifier {name} has no version {version!r}; there is {there}")

    def load(self, names: Collection[str] | None = None) -> list[Problem]:
        """Import installed plugins, so that they can be selected; those that can't be are told.

        Args:
            names: The verifiers to import; None for all. Canonicalisers are all imported.
        """
        problems: list[Problem] = []
        for name, point in self._entry_points(VERIFIER_GROUP).items():
            if (names is None or name in names) and name not in self._verifiers:
                try:
                    self.hold([_offered(point)])
                except PluginError as error:
                    problems.append(_problem(name, point, error))
        for kind, point in self._entry_points(CANONICALISER_GROUP).items():
            try:
                self.canonicaliser(kind)
            except PluginError as error:
                problems.append(_problem(kind, point, error))
        return problems

    def held(self, name: str, version: str) -> list[Verifier]:
        """The verifiers of this name and version that are here, however they are made.

        Raises:
            ConfigError: If none has this name. Nothing is imported for it.
        """
        with self._lock:
            if name not in self._verifiers:
                raise ConfigError(self._unknown(name))
            return [v for v in self._verifiers[name] if _version(v) == version]

    def create(
        self, name: str, settings: dict[str, Any] | None = None, version: str | None = None
    ) -> Verifier:
        """Make a verifier with settings of its own, which a program or a trusted file gives.

        Args:
            name: Its name.
            settings: What its class is made with; the registered verifier itself if there is none.
            version: Its version; the last one registered if left out.

        Raises:
            ConfigError: If it is unknown, or does not take these settings.
            PluginError: If the package that offers it can't be imported.
        """
        found = self.get(name, version)
        if not settings:
            return found
        try:
            return type(found)(**settings)
        except LadderError:
            raise
        except Exception as error:  # It may be anybody's class.
            given = ", ".join(settings)
            raise ConfigError(
                f"verifier {name} can't be made with the settings {given}: {text_of(error)}"
            ) from error

    def canonicaliser(self, kind: str) -> Canonicaliser:
        """Find what brings candidates of this kind to canonical form; the identity if nothing.

        Raises:
            PluginError: If the package that offers it can't be imported.
        """
        if kind not in self._canonicalisers:
            found = self._entry_points(CANONICALISER_GROUP).get(kind)
            made = Identity(kind) if found is None else _made(found)
            with self._lock:
                self._canonicalisers.setdefault(kind, made)
        return self._canonicalisers[kind]

    def held_canonicaliser(self, digest: str) -> Canonicaliser | None:
        """The canonicaliser that is held here and has this digest, in hexadecimal."""
        with self._lock:
            held = [*self._canonicalisers.values(), *self._others]
        return next((by for by in (*held, Identity("text")) if by.digest.hex() == digest), None)

    def add_canonicaliser(self, canonicaliser: Canonicaliser) -> None:
        """Register how candidates of a kind are brought to canonical form."""
        with self._lock:
            self._canonicalisers[canonicaliser.kind] = canonicaliser

    def problems(self) -> list[Problem]:
        """Load every plugin and report those that fail; nothing is raised."""
        found: list[Problem] = []
        for group in (VERIFIER_GROUP, CANONICALISER_GROUP):
            for name, point in self._entry_points(group).items():
                try:
                    _offered(point) if group == VERIFIER_GROUP else _made(point)
                except PluginError as error:
                    found.append(_problem(name, point, error))
        return found

    def _entry_points(self, group: str) -> dict[str, EntryPoint]:
        if self._found is None:
            from importlib.metadata import entry_points

            offered = entry_points()  # It reads a file of every package that is installed.
            self._found = {
                wanted: {point.name: point for point in offered.select(group=wanted)}
                for wanted in (VERIFIER_GROUP, CANONICALISER_GROUP)
            }
        return self._found[group]

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self.names(), n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        return (
            f"no verifier is called {name!r}; {hint}`vladder verifier ls` lists them all, and "
            "--import gives code of your own"
        )


def _version(verifier: Verifier) -> str:
    """Its version; empty if it gives none and its source can't be digested."""
    try:
        return verifier.version
    except ConfigError:
        return ""


def _problem(name: str, point: EntryPoint, error: PluginError) -> Problem:
    return Problem(name, point.dist.name if point.dist else "unknown", str(error))


def load(point: EntryPoint) -> Any:
    """Import what an entry point names.

    Raises:
        PluginError: If the import fails for any reason.
    """
    try:
        return point.load()
    except Exception as error:
        raise _broken(point, error) from error


def _made(point: EntryPoint) -> Any:
    """What an entry point names; a class is made into an instance."""
    found = load(point)
    try:
        return found() if isinstance(found, type) else found
    except Exception as error:
        raise _broken(point, error) from error


def _offered(point: EntryPoint) -> Verifier:
    """The verifier of an entry point, which must have the entry point's name."""
    from verifier_ladder.verifiers import Verifier

    made = _made(point)
    if not isinstance(made, Verifier):
        raise _broken(point, f"it is a {type(made).__name__}, not a verifier")
    if made.name != point.name:
        raise _broken(point, f"it is a verifier called {made.name}, which must be its name here")
    return made


def _broken(point: EntryPoint, error: Exception | str) -> PluginError:
    package = point.dist.name if point.dist else "an unknown package"
    why = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return PluginError(
        f"{point.name} of {package} can't be loaded: {why}; "
        "install what it needs or remove the package"
    )


REGISTRY = Registry()
"""The registry of this process."""
