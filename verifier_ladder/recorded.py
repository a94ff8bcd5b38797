"""Recorded verifiers: what a row of a ledger names, found among what is here.

Whoever can write to a ledger must not be able to say what a worker runs, reads or sends. So a row
selects a verifier that exists already, by name, version and digest, and constructs none; but a
class may declare settings that are data, and those a row may choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.registry import Registry
from verifier_ladder.verifiers import Verifier

_Text = Annotated[str, Field(min_length=1, max_length=500)]


class Recorded(BaseModel):
    """What a row says of a verifier, whoever wrote it.

    Example:
        >>> Recorded.read({"name": "length", "version": "1", "digest": "00" * 32}).name
        'length'
    """

    model_config = ConfigDict(extra="allow")

    name: _Text
    version: _Text
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    settings: dict[str, Any] = {}

    @classmethod
    def read(cls, row: object) -> Recorded:
        """Read one entry of a campaign's row.

        Raises:
            ConfigError: If it can't be one.
        """
        try:
            return cls.model_validate(row, strict=True)
        except ValidationError as error:
            raise ConfigError(f"a campaign's row names no verifier: {_told(error)}") from None

    def among(self, registry: Registry) -> Verifier:
        """The verifier of this name, version and digest that a registry holds.

        The digest stands for settings and tools too. Of several with one digest, which differ in
        what is said of their numbers, it is the one that the whole row describes. Nothing is
        imported, and nothing is made of what the row says, but with settings that the class of a
        verifier that is held declares as data.

        Raises:
            ConfigError: If it is not there.
        """
        held = registry.held(self.name, self.version)
        alike = [verifier for verifier in held if verifier.digest.hex() == self.digest]
        if alike:
            return next(filter(self._describes, alike), alike[0])
        if (sandboxed := self._in_another_sandbox(held)) is not None:
            registry.hold([sandboxed])
            return sandboxed
        why = "its settings, tools, sandbox or what it reads differ from the campaign's"
        for kind in dict.fromkeys(type(verifier) for verifier in held):
            if kind.data_settings is None:
                continue
            try:
                made = _with_data(kind, kind.data_settings, self.settings)
            except (ValueError, TypeError, LadderError) as error:
                why = f"a row of a ledger may not choose its settings: {error}"
                continue
            if made.digest.hex() == self.digest:
                registry.hold([made])
                return made
        raise ConfigError(
            f"verifier {self.name} {self.version} is another one here: {why}; give the code or "
            "the ladder file that makes it (--import, --ladder), with the same versions of its "
            "tools"
        )

    def _in_another_sandbox(self, held: Iterable[Verifier]) -> Verifier | None:
        """One that is held, in another sandbox of those that this machine's owner allows."""
        from verifier_ladder.tiers.sandbox.backend import allowed

        mine = [verifier for verifier in held if verifier.sandbox is not None]
        made = (verifier.in_sandbox(backend) for verifier in mine for backend in allowed())
        return next((each for each in made if each.digest.hex() == self.digest), None)

    def _describes(self, verifier: Verifier) -> bool:
        told = orjson.loads(orjson.dumps(verifier.as_json()))
        return bool(told == self.model_dump())


def _with_data(
    kind: type[Verifier], model: type[BaseModel], settings: Mapping[str, Any]
) -> Verifier:
    """A verifier of a class, with settings from outside.

    Raises:
        ValueError: If they are not those that the class declares.
    """
    if unknown := sorted(set(settings) - set(model.model_fields)):
        raise ValueError(f"it declares no {', '.join(unknown[:3])}")
    try:
        chosen = model.model_validate(settings, strict=True)
    except ValidationError as error:
        raise ValueError(_told(error)) from None
    return kind(**chosen.model_dump())


def _told(error: ValidationError) -> str:
    """What was wrong, without what was given."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the row'}: {each['msg']}"
        for each in error.errors(include_input=False)[:3]
    )
