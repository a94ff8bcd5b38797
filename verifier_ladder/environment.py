"""Environment: which variables of this process a verifier gets, and how secrets reach it.

A worker starts with harmless variables only. What a verifier declares beside them, as `env` and
`secrets`, is read in the parent when the verifier is asked, travels with the request, and stands
in the worker's `os.environ` while that verifier works. So no process of ours begins with a secret
in its environment, which other processes of the user could read as `/proc/PID/environ`.

All of that stops accidents. Processes of one user can read each other's memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.errors import ConfigError

if TYPE_CHECKING:
    from verifier_ladder.verifiers import Verifier

_NAMES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM HOSTNAME PWD NO_COLOR
    TMPDIR TEMP TMP XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR
    LD_LIBRARY_PATH LD_PRELOAD VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV MODULEPATH LOADEDMODULES
    PYTHONPATH PYTHONHOME PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONWARNINGS PYTHONMALLOC
    PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX PYTHONNOUSERSITE PYTHONUSERBASE PYTHONSAFEPATH
    PYTHONDEVMODE PYTHONTRACEMALLOC PYTHONASYNCIODEBUG PYTHONFAULTHANDLER PYTHONUNBUFFERED
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
    HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE TORCH_HOME MPLCONFIGDIR
    GLIBC_TUNABLES SOURCE_DATE_EPOCH VLADDER_LARGEST_ARTIFACT VLADDER_VERDICT_ARTIFACTS
    VLADDER_DEVICE VLADDER_GPU_MEMORY VLADDER_CHECKPOINTS VLADDER_PREDICTORS
    ASE_CONFIG_PATH
    """.split()  # noqa: SIM905 - a list would take a line for each
)
"""Single variables that every worker gets, if they are set; lower case too, as for proxies."""
_FAMILIES = (
    "LC_", "CUDA_", "NVIDIA_", "NCCL_", "HIP_", "HSA_", "ROCR_", "SLURM_", "SSL_CERT_", "OMP_",
    "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "NUMBA_", "RAYON_", "MALLOC_",
    "VECLIB_", "COV_CORE_", "COVERAGE_",
)  # fmt: skip
"""Beginnings of names that every worker gets, unless they sound like a secret (`NVIDIA_API_KEY`,
`SLURM_JWT`)."""
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
"""How many threads numerical libraries start."""
_SOUNDS_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|JWT|AUTH")
_ENDS_SECRET = re.compile(
    r"(KEY|TOKEN|SECRET|PASS(WORD|WD)?|PWD|CRED(ENTIAL)?S?|JWT|AUTH(ORIZATION)?|SIG(NATURE)?"
    r"|COOKIE)\Z"
)
"""Ends the names of headers and of parts of an address that are secrets; `token_count` is none."""
_HAS_PASSWORD = re.compile(r"://[^/@\s]*@")
"""An address with a user and, mostly, a password."""
_IS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SHORTEST = 4
"""Characters of a secret; fewer can't be told from other text, and so not be masked."""
_OURS = ("VLADDER_LEDGER", "VLADDER_WITNESS", "VLADDER_BROKER", "PGPASSWORD")
"""What leads to the ledger: workers have no part in it."""
DESCRIPTOR = "VLADDER_SECRETS_FD"
"""Variable that tells a program at which descriptor its secrets lie, as one JSON object."""
_DECLARED: set[str] = set(_OURS)
_HIDDEN: set[str] = set()
_LOCK = Lock()


class Grant(NamedTuple):
    """What one verifier is given of this process's environment."""

    env: Mapping[str, str] = {}
    """Plain settings by name."""
    secrets: Mapping[str, str] = {}
    """Secrets by name."""

    @property
    def all(self) -> dict[str, str]:
        """Both together."""
        return {**self.env, **self.secrets}


_NOTHING = Grant()


def harmless(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that every worker and every program gets.

    Args:
        environ: The environment that they are taken from; by default this process's.

    Example:
        >>> harmless({"PATH": "/bin", "SLURM_JOB_ID": "7", "SLURM_JWT": "x", "AWS_PROFILE": "me"})
        {'PATH': '/bin', 'SLURM_JOB_ID': '7'}
    """
    every = os.environ if environ is None else environ
    return {name: value for name, value in every.items() if _is_harmless(name, value)}


def _is_harmless(name: str, value: str) -> bool:
    if _HAS_PASSWORD.search(value):
        return False
    return name.upper() in _NAMES or (
        name.startswith(_FAMILIES) and not _SOUNDS_SECRET.search(name.upper())
    )


def declared(verifier: str, what: str, names: Any) -> tuple[str, ...]:
    """Names of variables that a verifier declares as `env` or `secrets`.

    Raises:
        ConfigError: If one can't be a variable's name.

    Example:
        >>> declared("judge", "secrets", "JUDGE_TOKEN")
        ('JUDGE_TOKEN',)
    """
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if not isinstance(name, str) or not _IS_NAME.match(name):
            raise ConfigError(
                f"{what}={name!r:.100} of verifier {verifier}: give names of variables, such as "
                f'{what}=["JUDGE_TOKEN"]; values stay in the environment'
            )
    if what == "secrets":
        _DECLARED.update(listed)
    return tuple(dict.fromkeys(listed))


def granted(verifier: Verifier) -> Grant:
    """What a verifier declares, as it is set in this process now.

    Raises:
        ConfigError: If a name is not set, or a secret is too short to be masked.
    """
    if not verifier.env and not verifier.secrets:
        return _NOTHING
    values = {name: os.environ.get(name, "") for name in (*verifier.env, *verifier.secrets)}
    if missing := [name for name, value in values.items() if not value.strip()]:
        raise ConfigError(
            f"verifier {verifier.name} needs {' and '.join(missing)}; set it in the environment "
            "of the process that runs its workers"
        )
    for name in verifier.secrets:
        if len(values[name].strip()) < _SHORTEST:
            raise ConfigError(
                f"secret {name} of verifier {verifier.name} has fewer than {_SHORTEST} "
                "characters, which can't be masked; set a longer one, or declare it as env"
            )
    return Grant(*({n: values[n] for n in names} for names in (verifier.env, verifier.secrets)))


def names_secret(name: str) -> bool:
    """Whether what is called so, a header or a part of an address, is a secret.

    Example:
        >>> [names_secret(name) for name in ("X-Api-Key", "Authorization", "sig", "token_count")]
        [True, True, True, False]
    """
    return bool(_ENDS_SECRET.search(name.upper()))


@contextmanager
def lent(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these variables in this process's environment, and then what was there before.

    Example:
        >>> with lent({"JUDGE_TOKEN": "abcd"}):
        ...     os.environ["JUDGE_TOKEN"]
        'abcd'
        >>> "JUDGE_TOKEN" in os.environ
        False
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def hide_declared() -> None:
    """Erase from this process's *initial* environment what no other process is to read there.

    These are the secrets that verifiers have declared in this process, and what leads to the
    ledger. `os.environ` and C's `getenv` keep them: they are moved to other memory. Where the
    system doesn't let a process do that, nothing happens.
    """
    with _LOCK:
        names = {name for name in _DECLARED - _HIDDEN if name in os.environ}
        if names:
            with suppress(OSError, ValueError):
                _erase(names)
        _HIDDEN.update(names)


def _erase(names: set[str]) -> None:
    status = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    place = int(status[47])  # env_start, the 50th of all fields
    initial = Path("/proc/self/environ").read_bytes()
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        for entry in initial.split(b"\0"):
            name, _, value = entry.partition(b"=")
            known = os.fsdecode(name)
            if known in names and value:
                os.environ[known] = os.environ[known]  # C's environ points elsewhere from now on
                memory.seek(place + len(name) + 1)
                memory.write(bytes(len(value)))
            place += len(entry) + 1


def shown(verifier: Verifier) -> dict[str, Any]:
    """What a verifier declares, for a person: names, and which of them are not set here."""
    names = (*verifier.env, *verifier.secrets)
    return {
        "env": list(verifier.env), "secrets": list(verifier.secrets),
        "not_set": [name for name in names if not os.environ.get(name, "").strip()],
    }  # fmt: skip
