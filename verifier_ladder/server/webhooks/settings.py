"""Settings of webhooks: who may send results, and who is told of revisions, in TOML."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from verifier_ladder.arguments import checked_url
from verifier_ladder.errors import ConfigError
from verifier_ladder.server.webhooks.signing import key_of

Secrets = Annotated[list[str], Field(min_length=1, max_length=4)]


def _http(url: str) -> str:
    """An address of HTTP; pydantic tells in which table another one stands."""
    try:
        return checked_url("url", url)
    except ConfigError as error:
        raise ValueError(f"{error}") from None


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Source(_Table):
    """Somebody who sends results of world cases."""

    secrets: Secrets
    """Two while one replaces the other. `$NAME` is read from the environment."""

    def keys(self) -> list[bytes]:
        """What its messages may be signed with."""
        return [key_of(_from_environment(secret)) for secret in self.secrets]


class Receiver(_Table):
    """Somebody who is told of revisions."""

    name: str = Field(pattern=r"^[\w.\-]{1,60}$")
    url: Annotated[str, AfterValidator(_http)]
    secret: str
    private: bool = False
    """Whether it may lie in a private network, or on this machine."""

    def key(self) -> bytes:
        """What its messages are signed with."""
        return key_of(_from_environment(self.secret))


class WebhookSettings(_Table):
    """All of them.

    Example:
        >>> WebhookSettings(sources={"lab": Source(secrets=["$LAB_SECRET"])}).receivers
        []
    """

    sources: dict[Annotated[str, Field(pattern=r"^[\w.\-]{1,60}$")], Source] = {}
    receivers: list[Receiver] = []

    @classmethod
    def from_toml(cls, path: str | Path) -> WebhookSettings:
        """Read a file, with tables `[sources.NAME]` and `[[receivers]]`.

        Raises:
            ConfigError: If it can't be read, or a secret is missing or too short.
        """
        try:
            made = cls.model_validate(tomllib.loads(Path(path).read_text("utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"webhooks {path}: {error}") from None
        except ValidationError as error:
            lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise ConfigError(f"webhooks {path}: {'; '.join(lines)}") from None
        names = [receiver.name for receiver in made.receivers]
        if len(set(names)) < len(names):
            raise ConfigError(f"webhooks {path}: two receivers have one name; each needs its own")
        for source in made.sources.values():
            source.keys()
        for receiver in made.receivers:
            receiver.key()
        return made


def _from_environment(secret: str) -> str:
    if not secret.startswith("$"):
        return secret
    found = os.environ.get(secret[1:])
    if not found:
        raise ConfigError(f"set the webhook's secret {secret[1:]} in the environment")
    return found
