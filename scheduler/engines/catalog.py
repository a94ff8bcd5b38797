"""The catalog: which verifiers of a ledger's campaigns a worker host can run."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from verifier_ladder.errors import ConfigError, LadderError, PluginError
from verifier_ladder.ledger import Ledger
from verifier_ladder.registry import REGISTRY, Registry
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")


RESOURCES = ("cpu", "gpu", "memory")
_MUCH_MEMORY = 8 * 2**30


def resource_of(verifier: Verifier) -> str:
    """The scarce resource that a verifier wants: `gpu`, much `memory`, or else `cpu`.

    Example:
        >>> from verifier_ladder import verifier
        >>> @verifier(kind="crystal", version="1", memory=64 * 2**30)
        ... def relax(candidate): ...
        >>> resource_of(relax)
        'memory'
    """
    if verifier.cost.gpu_seconds > 0:
        return "gpu"
    return "memory" if (verifier.memory or 0) >= _MUCH_MEMORY else "cpu"


class Catalog:
    """The verifiers that campaigns name and that are here, by their digest.

    Verifiers are looked up by name, version and settings, never sent: a worker host runs only
    code that somebody has installed on its machine. One that is missing, or that is here with
    other settings or tools, is left to other hosts and said once.
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
        """Know nothing yet; `refresh` reads the campaigns.

        Args:
            ledger: Whose campaigns.
            names: Verifiers to run; None for all.
            resources: Resources (see `resource_of`) of verifiers to run; None for all.
            offered: Verifiers that exist already, as they are.
            registry: Where all others are looked up.
        """
        self._ledger, self._registry = ledger, registry
        self._names, self._resources = names, resources
        self._offered = {verifier.digest.hex(): verifier for verifier in offered}
        self._found: dict[str, Verifier] = {}
        self.missing: dict[str, str] = {}
        """Why a verifier can't be run here, by its digest."""

    def refresh(self) -> None:
        """Read the campaigns that have come since."""
        for row in self._ledger.campaigns():
            for spec in row.ladder["verifiers"]:
                digest = str(spec["digest"])
                if digest not in self._found and digest not in self.missing:
                    self._take(digest, spec)

    def _take(self, digest: str, spec: Mapping[str, Any]) -> None:
        name, version = str(spec["name"]), str(spec["version"])
        if self._names is not None and name not in self._names:
            self.missing[digest] = "it was not asked for"
            return
        try:
            made = self._offered.get(digest) or self._registry.create(
                name, dict(spec["settings"]), version
            )
            if made.digest.hex() != digest:
                raise ConfigError(
                    f"verifier {name} {version} is another one here: its settings, tools or what "
                    "it reads differ from the campaign's; install the same version"
                )
        except (LadderError, PluginError) as error:
            self.missing[digest] = f"{error}"
            _LOG.warning("verifier %s %s is not run here: %s", name, version, error)
            return
        if self._resources is not None and resource_of(made) not in self._resources:
            self.missing[digest] = f"it wants {resource_of(made)}"
            return
        self._found[digest] = made

    def of(self, tier: Tier) -> list[Verifier]:
        """The verifiers of a tier."""
        return [verifier for verifier in self._found.values() if verifier.tier == tier]

    @property
    def verifiers(self) -> list[Verifier]:
        """All that can be run here."""
        return list(self._found.values())
