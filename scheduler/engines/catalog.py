"""The catalog: which verifiers of a ledger's campaigns a worker host can run."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.environment import granted
from verifier_ladder.errors import ConfigError, LadderError, SandboxError, ServiceError
from verifier_ladder.ledger import Ledger
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import REGISTRY, Registry
from verifier_ladder.services import gpumemory
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")


RESOURCES = ("cpu", "gpu", "memory")
_MUCH_MEMORY = 8 * 2**30
_MOST_SAID = 1000
"""Rows that can't be read of which a log tells; somebody may write very many."""


def resource_of(verifier: Verifier, *, gpu: bool) -> str:
    """The scarce resource that a check wants: `gpu`, much `memory`, or else `cpu`.

    Args:
        verifier: Its verifier.
        gpu: Whether the check is expected to take some of a GPU; its verifier may say so of one
            candidate and not of another.

    Example:
        >>> from verifier_ladder import verifier
        >>> @verifier(kind="crystal", version="1", memory=64 * 2**30)
        ... def relax(candidate): ...
        >>> resource_of(relax, gpu=False)
        'memory'
    """
    if gpu:
        return "gpu"
    return "memory" if (verifier.memory or 0) >= _MUCH_MEMORY else "cpu"


class Catalog:
    """The verifiers that campaigns name and that are here, by their digest.

    A worker host runs only what it held before it read anything: verifiers of installed packages,
    and those that it was given. What a campaign's row names is found among these by name, version
    and digest (see `verifier_ladder.recorded`). One that is missing, or that is here with other
    settings or tools, is left to other hosts and said once.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        names: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        offered: Iterable[Verifier] = (),
        registry: Registry = REGISTRY,
    ) -> None:
        """Import what is installed; `refresh` reads the campaigns.

        Args:
            ledger: Whose campaigns.
            names: Verifiers to run; None for all.
            resources: Resources (see `resource_of`) of verifiers to run; None for all.
            offered: More verifiers, beside those of the registry.
            registry: What is held here.
        """
        self._ledger, self._registry = ledger, registry
        self._names, self._resources = names, resources
        for problem in registry.load(names):
            _LOG.warning(
                "%s of %s is not run here: %s", problem.name, problem.package, problem.error
            )
        registry.hold(offered)
        self._found: dict[str, Verifier] = {}
        self._unread: set[str] = set()
        self.missing: dict[str, str] = {}
        """Why a verifier can't be run here, by its digest."""

    def refresh(self) -> None:
        """Read the campaigns that have come since."""
        for row in self._ledger.campaigns():
            listed = row.ladder.get("verifiers")
            for place, spec in enumerate(listed if isinstance(listed, list) else [listed]):
                try:
                    self._take(Recorded.read(spec))
                except ConfigError as error:
                    self._say_once(f"{row.name} {place}", str(error))

    def _say_once(self, what: str, why: str) -> None:
        """Say that an entry of a campaign's row can't be read."""
        if what not in self._unread and len(self._unread) < _MOST_SAID:
            self._unread.add(what)
            _LOG.warning("campaign %.200r is not served: %s", what, printable(why, None))

    def _take(self, wanted: Recorded) -> None:
        digest = wanted.digest
        if digest in self._found or digest in self.missing:
            return
        if self._names is not None and wanted.name not in self._names:
            self.missing[digest] = "it was not asked for"
            return
        try:
            made = wanted.among(self._registry)
            if made.sandbox is not None and (why := made.sandbox.problem()):
                raise SandboxError(why)
            if why := gpumemory.problem(made.services.values()):
                raise ServiceError(why)
            granted(made)  # What is not set here may be set on another host.
        except LadderError as error:
            self.missing[digest] = f"{error}"
            _LOG.warning(
                "verifier %s %s is not run here: %s",
                *map(printable, (wanted.name, wanted.version)), printable(error, None),
            )  # fmt: skip
            return
        if not self._lanes(made):
            self.missing[digest] = f"it wants {resource_of(made, gpu=made.cost.gpu_seconds > 0)}"
            return
        self._found[digest] = made

    def canonicaliser(self, digest: str) -> Canonicaliser | None:
        """The canonicaliser that is held here and has this digest, in hexadecimal."""
        return self._registry.held_canonicaliser(digest)

    def of(self, tier: Tier) -> list[Verifier]:
        """The verifiers of a tier."""
        return [verifier for verifier in self._found.values() if verifier.tier == tier]

    def gpu(self, verifier: Verifier) -> bool | None:
        """Which checks of a verifier are run here, as `WorkQueue.claim` wants to hear it.

        Those that are expected to take some of a GPU (True), the others (False), or all (None).
        """
        lanes = self._lanes(verifier)
        return lanes[0] if len(lanes) == 1 else None

    def _lanes(self, verifier: Verifier) -> list[bool]:
        """Whether checks that want a GPU are run here, and whether those that want none are."""
        wanted = RESOURCES if self._resources is None else self._resources
        return [gpu for gpu in (False, True) if resource_of(verifier, gpu=gpu) in wanted]

    @property
    def verifiers(self) -> list[Verifier]:
        """All that can be run here."""
        return list(self._found.values())
