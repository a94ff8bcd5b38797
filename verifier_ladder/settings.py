"""Settings: what the environment may change, in one place.

Commands and the campaign read them; a value given in code or on the command line wins.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)

from verifier_ladder.errors import ConfigError

PREFIX = "VLADDER_"
_SMALLEST_WORKER = 64 * 2**20
_SMALLEST_CACHE = 32 * 2**20
"""Connections, statements, threads and one sample at work take 8 to 10 MiB of it."""


def _enough(memory: ByteSize) -> ByteSize:
    if memory < _SMALLEST_CACHE:
        raise ValueError(
            f"connections, threads and work in progress don't fit into {memory.human_readable()}; "
            f"give at least {_SMALLEST_CACHE // 2**20}MiB"
        )
    return memory


class Settings(BaseModel):
    """Every setting, with its default; each is also an environment variable.

    The variable is `VLADDER_` and the field's name in capitals: `VLADDER_WORKER_MEMORY=2GiB`.

    Example:
        >>> Settings(ledger="mine.db").ledger
        'mine.db'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ledger: str = Field(default="ledger.db", description="Where the ledger lies: a path or a URL.")
    key: Path | None = Field(
        default=None,
        description="File of the key that signs checkpoints; beside the ledger if unset.",
    )
    witness: SecretStr | None = Field(
        default=None,
        description="URL of a PostgreSQL user other than the ledger's, who keeps what was signed "
        "last for all machines that sign for a ledger in PostgreSQL; a file beside the key if "
        "unset.",
    )
    tokens: Path | None = Field(
        default=None,
        description="File of the tokens that a server asks for; beside the ledger if unset.",
    )
    workers: int | None = Field(
        default=None, ge=1, le=1024, description="Worker processes; one per core if unset."
    )
    engine: Literal["local", "workers", "celery"] = Field(
        default="local",
        description="Who runs a campaign's simulations and dearer checks: its own process, or "
        "processes started with `vladder worker start`, which celery rings for.",
    )
    broker: str | None = Field(
        default=None, description="URL of Redis or RabbitMQ, for the engine celery."
    )
    sandbox: Literal["auto", "namespaces", "landlock", "command", "remote"] = Field(
        default="auto",
        description="The sandbox in which programs that a model wrote are run; auto takes the "
        "strongest that works. It is part of what verdicts are filed under: where workers run "
        "on several machines, name one that all of them have.",
    )
    sandbox_command: str = Field(
        default="",
        description="Of the sandbox command: the program that stands around untrusted code and "
        "its arguments, such as those of bwrap, nsjail, runsc or docker, at the end a Python "
        "interpreter of version 3.11 or newer.",
    )
    sandbox_url: str = Field(
        default="",
        description="Of the sandbox remote: shape and address of the service that runs "
        "untrusted code, such as sandboxfusion+http://10.0.0.7:8080 or e2b+https://api.e2b.app.",
    )
    sandbox_token: SecretStr | None = Field(
        default=None,
        description="Of the sandbox remote: the token or key that the service asks for.",
    )
    predictors: Path | None = Field(
        default=None,
        description="TOML file that names the programs of this machine which predict structures "
        "of proteins, a section for each; there are none if unset.",
    )
    device: Literal["cpu", "cuda"] = Field(
        default="cpu",
        description="What neural networks compute on that verifiers of this machine load: its "
        "processor, or with cuda its first visible GPU. It is no part of what verdicts are filed "
        "under.",
    )
    gpu_memory: str = Field(
        default="",
        description="Memory of each GPU of this machine that services may take, such as "
        "80GiB,80GiB; what nvidia-smi tells if unset.",
    )
    worker_memory: Annotated[ByteSize, Field(ge=_SMALLEST_WORKER)] | None = Field(
        default=None,
        description="Memory that one worker may use, such as 2GiB; the engine's if unset.",
    )
    cache_memory: Annotated[ByteSize, AfterValidator(_enough)] = Field(
        default=ByteSize(256 * 2**20),
        description="Memory that campaigns add to the process that scores, beside the completions "
        "that it holds itself, such as 1GiB; at least 32MiB. Of what it is beyond 8MiB, three "
        "eighths are for candidates of all its campaigns together: the oldest are dropped, and "
        "read from the ledger when they come again. The rest is for pages of a ledger file and "
        "for what is at work; long calls are written, and long batches run, in pieces, and a "
        "completion longer than 1/32 of what it is beyond 24MiB is not judged.",
    )
    largest_artifact: Annotated[ByteSize, Field(ge=0)] = Field(
        default=ByteSize(4 * 2**20),
        description="Bytes of the largest artifact of a verdict that is kept, such as 16MiB; of "
        "larger ones the digest is.",
    )
    verdict_artifacts: Annotated[ByteSize, Field(ge=0)] = Field(
        default=ByteSize(16 * 2**20),
        description="Bytes of artifacts that are kept of one verdict; of more, the digests are.",
    )
    campaign_artifacts: Annotated[ByteSize, Field(ge=0)] = Field(
        default=ByteSize(2 * 2**30),
        description="Bytes of artifacts that a campaign keeps; of more, the digests are kept.",
    )
    checkpoints: Path | None = Field(
        default=None,
        description="Folder where long checks keep how far they have come, so that one whose "
        "worker was killed goes on from there; hosts that share it go on with each other's. A "
        "private one of the machine, among its temporary files, if unset.",
    )
    namespace: str = Field(
        default="",
        description="Cache namespace of new campaigns: those in different ones, such as tenants, "
        "or training and evaluation, never answer for each other's checks.",
    )
    project: str = Field(default="", description="Project of runs that name none.")
    transcripts: bool = Field(
        default=True,
        description="Whether prompts, and what else a learner saw and wrote beside the candidate, "
        "are kept in the ledger when they are handed over; false keeps the tags of tasks only.",
    )
    alerts: Path | None = Field(
        default=None,
        description="TOML file whose section [alerts] says about what to alert whom, where no "
        "ladder says so itself.",
    )
    telemetry: str = Field(
        default="",
        description="What to tell of this process's work: traces, metrics, or both with a comma.",
    )
    track: bool = Field(
        default=False,
        description="Whether campaigns send their curves to W&B or MLflow, if their process has "
        "a run, as `Campaign.track` does.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port of this machine at which a worker host answers /metrics.",
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="How commands write messages: for people, or JSON lines."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="The least important message that commands write to stderr."
    )


def load_settings() -> Settings:
    """Read the settings from the environment, in whatever case a variable is written.

    An empty variable counts as unset.

    Raises:
        ConfigError: If a variable has a value that makes no sense; it names the variable.
    """
    told = {name.upper(): value for name, value in os.environ.items() if value}
    known = {name: f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    try:
        return Settings.model_validate(
            {name: told[variable] for name, variable in known.items() if variable in told}
        )
    except ValidationError as error:
        lines = [
            f"{PREFIX}{'_'.join(str(p) for p in e['loc'][:1]).upper()}={e['input']!r}: {e['msg']}"
            for e in error.errors()
        ]
        raise ConfigError(
            "; ".join(dict.fromkeys(lines)) + "; correct or unset the variable"
        ) from None


def engine_of(given: str | None) -> str:
    """Who runs a campaign's dearer checks: as given, or else as the environment says.

    Raises:
        ConfigError: If there is no such engine.
    """
    engines = get_args(Settings.model_fields["engine"].annotation)
    if given is not None and given not in engines:
        raise ConfigError(f"there is no engine {given!r}; there is {' and '.join(engines)}")
    return given or load_settings().engine


def unknown_variables(environment: dict[str, str]) -> list[str]:
    """Variables that look like settings and are none, each with what it may have meant.

    Example:
        >>> unknown_variables({"VLADDER_LEGDER": "x"})
        ['VLADDER_LEGDER (did you mean VLADDER_LEDGER?)']
    """
    known = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    found = []
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = get_close_matches(name.upper(), known, n=1)
            found.append(f"{name} (did you mean {near[0]}?)" if near else name)
    return found
