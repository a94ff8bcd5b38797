"""What of this process's environment a verifier gets."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import verifier_ladder as vl
from verifier_ladder.environment import Grant, granted, harmless, lent


class Declares(vl.Verifier):
    name, version, kind = "declares", "1", "text"
    env = ("PLAIN",)
    secrets = ("A_KEY",)


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TZ", "CUDA_VISIBLE_DEVICES",
     "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SSL_CERT_FILE", "SLURM_JOB_ID", "VIRTUAL_ENV",
     "PYTHONPATH", "https_proxy"],
)  # fmt: skip
def test_harmless_variables_are_passed_on(name: str) -> None:
    assert {name: "1"} == harmless({name: "1"})


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "NVIDIA_API_KEY", "SLURM_JWT", "PGPASSWORD", "VLADDER_LEDGER",
     "AWS_PROFILE", "PYTHONSTARTUP", "SSH_AUTH_SOCK", "HF_TOKEN", "A_PATH"],
)  # fmt: skip
def test_others_are_not_nor_those_of_a_family_that_sound_like_a_secret(name: str) -> None:
    assert {} == harmless({name: "1"})


def test_a_harmless_name_with_a_password_in_its_address_is_not_passed_on() -> None:
    assert {} == harmless({"HTTPS_PROXY": "http://me:word@proxy:3128"})
    assert {"HTTPS_PROXY": "http://proxy:3128"} == harmless({"HTTPS_PROXY": "http://proxy:3128"})


def test_a_verifier_is_granted_what_it_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIN", "seen")
    monkeypatch.setenv("A_KEY", "hidden")

    assert Grant({"PLAIN": "seen"}, {"A_KEY": "hidden"}) == granted(Declares())


def test_every_name_that_is_missing_is_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAIN", raising=False)
    monkeypatch.setenv("A_KEY", " ")

    with pytest.raises(vl.ConfigError, match="declares needs PLAIN and A_KEY; set it in the env"):
        granted(Declares())


def test_a_secret_that_is_too_short_to_be_masked_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLAIN", "1")
    monkeypatch.setenv("A_KEY", "abc")

    with pytest.raises(vl.ConfigError, match="secret A_KEY of verifier declares has fewer than 4"):
        granted(Declares())


@pytest.mark.parametrize("names", ["A=b", ["A", 7], ["1A"], [""], ["A B"]])
def test_what_can_be_no_variable_is_refused(names: object) -> None:
    class Wrong(Declares):
        secrets = names  # type: ignore[assignment]

    with pytest.raises(
        vl.ConfigError, match=r"secrets=.* of verifier declares: give names of var"
    ):
        Wrong()


def test_one_name_may_stand_without_a_list() -> None:
    made = vl.wrap(
        lambda completions: [1.0 for _ in completions], name="w", version="1", env="A", secrets="B"
    )

    assert (("A",), ("B",)) == (made.env, made.secrets)


def test_lent_variables_are_gone_afterwards_and_what_was_there_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONE", "before")
    monkeypatch.delenv("TWO", raising=False)

    with lent({"ONE": "now", "TWO": "now"}):
        assert ("now", "now") == (os.environ["ONE"], os.environ["TWO"])
    with pytest.raises(KeyError), lent({"ONE": "now", "TWO": "now"}):
        raise KeyError

    assert ("before", False) == (os.environ["ONE"], "TWO" in os.environ)


PROGRAM = """
import ctypes, os
import verifier_ladder as vl
from verifier_ladder.environment import hide_declared

def initial():
    return open("/proc/self/environ", "rb").read()

@vl.verifier(kind="text", version="1", secrets=["A_KEY"])
def judge(candidate): ...

assert b"A_KEY=sesame" in initial() and b"word@host" in initial()
hide_declared()
assert b"sesame" not in initial() and b"word@host" not in initial()
assert b"OTHER=stays" in initial()
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
assert getenv(b"A_KEY") == b"sesame" == os.environ["A_KEY"].encode()
assert os.environ["VLADDER_LEDGER"] == "postgresql://me:word@host/db"
assert os.popen("echo $A_KEY $OTHER").read() == "sesame stays\\n"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_declared_secrets_and_the_ledger_leave_the_initial_environment_and_stay_known() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
        env={**os.environ, "A_KEY": "sesame", "OTHER": "stays",
             "VLADDER_LEDGER": "postgresql://me:word@host/db"},
    )  # fmt: skip

    assert (0, "") == (ended.returncode, ended.stderr)
