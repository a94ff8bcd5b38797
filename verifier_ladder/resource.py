"""Resources: what checks use up, each with accounts of its own."""

from __future__ import annotations

from enum import IntEnum

from verifier_ladder.errors import ConfigError


class Resource(IntEnum):
    """Something that checks use up and a budget limits.

    Example:
        >>> Resource.parse("gpu_seconds").unit
        'gpu-seconds'
    """

    CPU_SECONDS = 0
    """Seconds of one cpu core; what a bare amount of a budget means."""
    GPU_SECONDS = 1
    """Seconds of one accelerator."""
    MONEY = 2
    """Money, in the campaign's currency."""
    PERSON_MINUTES = 3
    """Minutes of somebody's attention."""

    @property
    def label(self) -> str:
        """The resource's name as spelled in tables, pages and configuration."""
        return self.name.lower()

    @property
    def unit(self) -> str:
        """The resource's name in a sentence, after a number."""
        return self.label.replace("_", "-")

    @classmethod
    def parse(cls, value: Resource | str) -> Resource:
        """Read a resource from its label; `seconds` alone are those of a cpu.

        Raises:
            ConfigError: If there is no such resource.
        """
        if isinstance(value, Resource):
            return value
        name = str(value).upper()
        try:
            return cls["CPU_SECONDS" if name == "SECONDS" else name]
        except KeyError:
            known = ", ".join(resource.label for resource in cls)
            raise ConfigError(f"unknown resource {value!r}; the resources are {known}") from None
