"""Which sandbox a machine has: its class, whether it works here, and which one is chosen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import RLock
from time import monotonic

from verifier_ladder.errors import ConfigError

STRENGTHS: Mapping[str, int] = {"landlock": 1, "namespaces": 2, "command": 3, "remote": 3}
"""Classes of sandboxes, and how much each keeps from a candidate; more is stronger. What the last
two keep beyond the others, the machine's owner knows, who has set them up."""
FILES, METERING, TALK = "files", "metering", "talk"
"""Capabilities: programs may write files; what a program took is measured, not told; what a
program reads may depend on what it has written (`Sandbox.talk`)."""
_GIVES: Mapping[str, frozenset[str]] = {
    "landlock": frozenset({METERING, TALK}),
    "namespaces": frozenset({FILES, METERING, TALK}),
    "command": frozenset({FILES, METERING}),
    "remote": frozenset(),
}
_WORDS = {
    FILES: "no folder to write into",
    METERING: "no exact measure of what a program took",
    TALK: "no conversation with a program while it runs",
}
CAPABILITIES = frozenset().union(*_GIVES.values())
"""What a check may need of a sandbox, and not every class gives."""
AUTO = ("namespaces", "landlock")
"""What `auto` tries, the strongest first."""
INSTALL = (
    "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt "
    "seccomp=unconfined), or use Linux 6.12 or newer with landlock (lsm=landlock)"
)
"""What to do where no back end works."""
_VERSION = 2
_LOOK_AGAIN = 5.0
"""Seconds after which a sandbox that did not work is tried again: somebody may have mended it."""
_LOCK = RLock()
_TRIED: dict[Backend, tuple[float, str]] = {}


@dataclass(frozen=True, slots=True)
class Backend:
    """One class of sandbox, as this machine has it.

    Example:
        >>> Backend("landlock").name, Backend("landlock").gives("files")
        ('landlock/2', False)
    """

    kind: str
    """The class: one of `STRENGTHS`."""
    command: tuple[str, ...] = ()
    """Of `command`: a program and its arguments, at the end a Python interpreter."""
    url: str = ""
    """Of `remote`: shape and address."""
    token: str = field(default="", repr=False)
    """Of `remote`: what the service asks for."""

    def __post_init__(self) -> None:
        """Refuse a class that there is not, or that is not told enough.

        Raises:
            ConfigError: If so.
        """
        strength_of(self.kind)
        if self.kind == "command" and not self.command:
            raise ConfigError(
                "the sandbox `command` is whatever the machine's owner sets: VLADDER_SANDBOX_"
                'COMMAND="bwrap --unshare-all --ro-bind / / --tmpfs /tmp --proc /proc python3"'
            )
        if self.kind == "remote":
            from verifier_ladder.tiers.sandbox.remote import checked_address

            checked_address(self.url)

    @property
    def name(self) -> str:
        """Class and version, such as `namespaces/2`; part of the key of a check, and evidence."""
        return f"{self.kind}/{_VERSION}"

    def gives(self, capability: str) -> bool:
        """Whether it has a capability (`CAPABILITIES`)."""
        return gives(self.kind, capability)

    def problem(self) -> str:
        """Why it does not work here; "" if it does. That it works is found out once."""
        from verifier_ladder.tiers.sandbox.sandbox import tried

        with _LOCK:
            when, why = _TRIED.get(self, (0.0, "never tried"))
            if why and (not when or monotonic() - when > _LOOK_AGAIN):
                why = tried(self)
                _TRIED[self] = (monotonic(), why)
            return why


def gives(kind: str, capability: str) -> bool:
    """Whether a class has a capability.

    Example:
        >>> gives("landlock", "files"), gives("landlock", "metering")
        (False, True)
    """
    return capability in _GIVES[kind]


def lacking(backend: Backend, capability: str) -> str:
    """What is said where a back end can't give what a check asks for.

    Example:
        >>> lacking(Backend("landlock"), "files").partition(";")[0]
        'the landlock sandbox has no folder to write into (files)'
    """
    return (
        f"the {backend.kind} sandbox has {_WORDS[capability]} ({capability}); ask for no such "
        f"limits, or use a machine whose sandbox has it, such as namespaces: {INSTALL}"
    )


def strength_of(kind: str) -> int:
    """How much a class keeps from a candidate.

    Raises:
        ConfigError: If there is no such class.

    Example:
        >>> strength_of("namespaces") > strength_of("landlock")
        True
    """
    if kind not in STRENGTHS:
        raise ConfigError(f"no sandbox is named {kind!r}; there are {', '.join(STRENGTHS)}")
    return STRENGTHS[kind]


def allowed() -> list[Backend]:
    """The sandboxes that this machine's owner lets untrusted code run in, the best first."""
    from verifier_ladder.settings import load_settings

    settings = load_settings()
    if settings.sandbox == "auto":
        return [Backend(kind) for kind in AUTO]
    if settings.sandbox == "command":
        return [Backend("command", command=tuple(shlex.split(settings.sandbox_command)))]
    if settings.sandbox == "remote":
        token = settings.sandbox_token.get_secret_value() if settings.sandbox_token else ""
        return [Backend("remote", url=settings.sandbox_url, token=token)]
    return [Backend(settings.sandbox)]


def chosen() -> Backend:
    """The sandbox of this machine: what `VLADDER_SANDBOX` names, or the best that works.

    Where none works it is the best all the same: checks are filed under it, wait, and are done
    once it works, here or on a host that has it.
    """
    found = allowed()
    if len(found) == 1:
        return found[0]
    return next((each for each in found if not each.problem()), found[0])
