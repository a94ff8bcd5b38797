"""Programs of the host: what they get, what bounds them, and what is left when somebody is killed.

Programs here are shell scripts.
"""

import errno
import os
import resource
import shutil
import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from verifier_ladder import metering
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.services import gpumemory
from verifier_ladder.services.gpumemory import room_for
from verifier_ladder.services.waiting import tell_waits_to
from verifier_ladder.tiers.simulation import hostprogram, programguard
from verifier_ladder.tiers.simulation.hostprogram import (
    Ended,
    HostProgram,
    read_programs,
    run,
    run_folder,
)

Until = Callable[[Callable[[], object]], None]
APART = "env -i /usr/bin/setsid /bin/sh -c 'sleep 1000 & echo $! >>pids'"
"""Starts what is nobody's child, in no group or session of the program, with no environment."""
EVERYTHING = f"echo $$ >pids; sleep 1000 & echo $! >>pids; {APART}; echo . >all; wait"


class Shell(HostProgram):
    """A program of one line."""

    source = "the file that VLADDER_SHELLS names"


def shell(script: str, **more: Any) -> Shell:
    return Shell(command=["/bin/sh", "-c", script, "sh"], version="1", **more)


def ended(script: str, *arguments: str, **more: Any) -> Ended:
    with run_folder() as folder:
        return run(shell(script, **more), arguments, folder)


def is_over(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of the test alone."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def asked(temporary: Path) -> Any:
    """A process that has the program run, for a test that kills it; and the run's folder."""
    process = get_context("fork").Process(target=ended, args=(EVERYTHING,), daemon=True)
    process.start()
    yield process, lambda: next(temporary.rglob("all"), None)
    process.kill()
    process.join()


# ---- What it gets and leaves


def test_it_works_in_its_folder_with_what_it_is_asked() -> None:
    with run_folder() as folder:
        (folder.work / "in").write_text("asked ")
        said = run(shell('cat in; echo "$1"; echo words >&2; exit 3'), ["one"], folder, "out")

        assert "asked one\nwords\n" == (folder.work / "out").read_text()
    assert (3, "asked one words") == (said.code, " ".join(said.words.split()))


def test_its_last_words_are_told() -> None:
    told = ended("yes words | head -c 5000; echo last; exit 3").told

    assert told.startswith("it ended with exit code 3; its last words: ")
    assert told.endswith("last")
    assert len(told) < 400


def test_what_kills_it_is_told() -> None:
    assert "it was killed by signal 9" == ended("kill -9 $$").told


def test_nothing_is_left_behind(temporary: Path) -> None:
    ended("echo left >file; exit 1")

    assert [] == list(temporary.iterdir())


@pytest.fixture
def ordinary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder of a user whom the modes of files bind."""
    place = tmp_path / "ordinary"
    place.mkdir()
    monkeypatch.chdir(place)
    if os.geteuid():
        yield place
        return
    os.chown(place, 65534, 65534)
    os.seteuid(65534)
    yield place
    os.seteuid(0)


def test_what_nobody_may_write_to_is_removed_too_and_links_lead_nowhere(ordinary: Path) -> None:
    for each in ("others", "run/cache/unpacked"):
        Path(each).mkdir(parents=True)
        Path(each, "file").touch()
    Path("run/cache/link").symlink_to(Path("others").absolute())
    for each in ("others", "run/cache/unpacked", "run/cache"):
        Path(each).chmod(0o500)

    programguard.remove("run")

    assert [Path("others")] == list(Path().iterdir())
    assert 0o500 == Path("others").stat().st_mode & 0o777
    shutil.rmtree(ordinary, ignore_errors=True)


def test_where_no_folder_can_be_locked_it_says_so(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuses)

    with pytest.raises(ToolError, match="set TMPDIR to a folder of a local disk"):
        ended(":")
    assert [] == list(temporary.iterdir())


def test_it_sees_no_secret_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "sesame")
    with run_folder() as folder:
        run(shell("env >seen"), [], folder)
        seen = (folder.work / "seen").read_text()

    assert "sesame" not in seen
    assert f"PATH={os.environ['PATH']}" in seen
    assert f"TMPDIR={folder.scratch}" in seen


def test_it_has_not_the_limit_of_memory_of_a_worker() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (2**40, hard))
    try:
        said = ended('test "$(ulimit -S -d)" = "$(ulimit -H -d)"')
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    assert 0 == said.code


def test_it_may_end_its_group_and_only_that() -> None:
    assert -signal.SIGTERM == ended("kill 0").code


def test_a_command_that_is_not_there_is_told() -> None:
    told = r"/nowhere/x can't be started: No such file .*file that VLADDER_SHELLS names"
    with run_folder() as folder, pytest.raises(ToolError, match=told):
        run(Shell(command=["/nowhere/x"], version="1"), [], folder)


# ---- Bounds


def test_what_takes_too_long_is_ended_with_all_that_it_started() -> None:
    with run_folder() as folder:
        with pytest.raises(ToolError, match="took more than 1 s; raise `seconds`"):
            run(shell(EVERYTHING, seconds=1), [], folder)
        started = [int(pid) for pid in (folder.work / "pids").read_text().split()]

    assert 3 == len(started)
    assert all(map(is_over, started))


def test_what_it_leaves_running_ends_with_it() -> None:
    with run_folder() as folder:
        run(shell(f"{APART}; until [ -s pids ]; do :; done"), [], folder)

        assert is_over(int((folder.work / "pids").read_text()))


def test_what_it_says_without_end_fills_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostprogram, "_LONGEST_LOG", 10_000)
    monkeypatch.setattr(hostprogram, "_LOOK", 0.05)
    waits = "while [ $(stat -L -c %s /proc/$$/fd/1) -gt 10000 ]; do :; done"

    said = ended(f"yes '' | head -c 50000; {waits}; echo short again", seconds=300)

    assert "short again" == said.words


@pytest.mark.parametrize("where", ["endless", "$TMPDIR/endless", "../endless"])
def test_what_writes_without_end_is_ended(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostprogram, "_LOOK", 0.05)

    with pytest.raises(ToolError, match=r"wrote more than 0.001 GB .*raise `gigabytes`"):
        ended(f"yes >{where}", gigabytes=0.001, seconds=300)


# ---- Who is killed


def test_a_worker_that_is_killed_leaves_neither_processes_nor_files(
    asked: Any, temporary: Path, until: Until
) -> None:
    worker, begun = asked
    until(begun)
    until(lambda: 3 == len((begun().parent / "pids").read_text().split()))
    started = [int(pid) for pid in (begun().parent / "pids").read_text().split()]

    worker.kill()

    until(lambda: all(map(is_over, started)) and not list(temporary.iterdir()))


@pytest.mark.parametrize("how", ["in its folder", "with its TMPDIR"])
def test_what_is_left_when_the_guard_is_killed_too_goes_with_the_next_run(
    temporary: Path, until: Until, how: str
) -> None:
    left, theirs = temporary / "vladder-run-left", temporary / "vladder-run-theirs"
    for each in (left, theirs):
        (each / "work").mkdir(parents=True)
    orphan = get_context("fork").Process(target=_as_an_orphan, args=(left, how))
    orphan.start()
    until(lambda: "sleep" in Path(f"/proc/{orphan.pid}/comm").read_text())
    lock = hostprogram._locked(theirs)
    assert lock is not None
    try:
        with run_folder():
            orphan.join(300)

            assert -signal.SIGKILL == orphan.exitcode
            assert not left.exists()
            assert theirs.exists()
    finally:
        lock.close()


@pytest.mark.parametrize(
    "hidden",
    [
        ["environ"], ["environ", "cmdline"], ["environ", "cmdline", "environ"],
        ["environ", "environ"], ["environ", "cmdline"] * 3,
    ],
)  # fmt: skip
def test_a_process_that_is_just_given_another_program_is_looked_at_again(
    temporary: Path, until: Until, monkeypatch: pytest.MonkeyPatch, hidden: list[str]
) -> None:
    """Until the system has placed its arguments, nothing tells where it belongs."""
    left = temporary / "vladder-run-left"
    (left / "work").mkdir(parents=True)
    orphan = get_context("fork").Process(target=_as_an_orphan, args=(left, "with its TMPDIR"))
    orphan.start()
    until(lambda: b"TMPDIR" in metering.read(f"/proc/{orphan.pid}/environ"))
    read, left_hidden = metering.read, list(hidden)

    def late(path: str) -> bytes:
        if left_hidden and path == f"/proc/{orphan.pid}/{left_hidden[0]}":
            left_hidden.pop(0)
            return b""
        return read(path)

    monkeypatch.setattr(metering, "read", late)
    with run_folder():
        orphan.join(300)

    assert -signal.SIGKILL == orphan.exitcode


def _as_an_orphan(folder: Path, how: str) -> None:
    is_inside = how == "in its folder"
    os.chdir(folder / "work" if is_inside else "/")
    environment = {} if is_inside else {"TMPDIR": str(folder / "tmp")}
    os.execve("/bin/sleep", ["sleep", "1000"], environment)  # noqa: S606


def test_a_folder_is_nobodys_once_its_process_has_gone_though_one_that_it_forked_lives(
    temporary: Path,
) -> None:
    context = get_context("fork")
    here, there = context.Pipe()
    lock = hostprogram._locked(temporary)
    assert lock is not None
    child = context.Process(target=_stays, args=(there,))
    child.start()
    here.recv()
    lock.close()  # As it is when its process ends.

    again = hostprogram._locked(temporary)

    here.send("go")
    child.join(300)
    assert again is not None
    again.close()


def _stays(told: Any) -> None:
    told.send("here")
    told.recv()


def test_a_guard_that_is_killed_is_a_failure_of_the_tool() -> None:
    with run_folder() as folder, pytest.raises(ToolError, match="its guard was killed"):
        run(shell("echo $$ >pids; kill -9 $PPID; sleep 1000"), [], folder)


def test_a_guard_that_is_stopped_ends_with_all_that_is_below_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hostprogram, "_PATIENCE", 0.1)
    with run_folder() as folder:
        with pytest.raises(ToolError, match="took more than 1 s"):
            run(shell(f"kill -STOP $PPID; {EVERYTHING}", seconds=1), [], folder)
        started = [int(pid) for pid in (folder.work / "pids").read_text().split()]

    assert 3 == len(started)
    assert all(map(is_over, started))


# ---- GPUs


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Whether a run waits for a GPU, as a worker tells its lane."""
    told: list[bool] = []
    monkeypatch.setattr("verifier_ladder.services.waiting._TELL", [])
    tell_waits_to(told.append)
    return told


def test_two_that_take_a_whole_gpu_never_share_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[bool], until: Until
) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "80GiB,80GiB")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    said: list[Ended] = []
    script = (
        f"cd {tmp_path}; mkdir gpu$CUDA_VISIBLE_DEVICES || exit 9; touch begun$1;"
        "until [ -e go ]; do :; done; rmdir gpu$CUDA_VISIBLE_DEVICES"
    )
    begin = lambda n: said.append(ended(script, n, gpu_memory="whole"))  # noqa: E731
    threads = [Thread(target=begin, args=(n,)) for n in "12"]
    for thread in threads:
        thread.start()
    until(lambda: (tmp_path / "begun1").exists() and (tmp_path / "begun2").exists())
    third = Thread(target=begin, args=("3",))
    waits.clear()
    third.start()
    until(lambda: waits == [True])
    (tmp_path / "go").touch()
    for thread in (*threads, third):
        thread.join(300)

    assert [0, 0, 0] == [each.code for each in said]
    assert [True, False] == waits


@pytest.fixture
def one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine whose driver tells of one GPU."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 0, GPU-aa, 81559\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("VLADDER_GPU_MEMORY", raising=False)
    forget()
    yield
    forget()


def forget() -> None:
    """Have the driver asked anew."""
    gpumemory._QUESTIONS.clear()


@pytest.mark.usefixtures("one_gpu")
def test_a_gpu_is_the_same_one_by_its_number_and_by_its_uuid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with room_for("one", None):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aa")

        assert gpumemory._room(2**30) is None


@pytest.mark.usefixtures("one_gpu")
@pytest.mark.parametrize("trouble", ["until [ -e {}/over ]; do /bin/sleep .01; done;", ""],
                         ids=["silent", "failed"])  # fmt: skip
def test_a_driver_that_does_not_tell_is_asked_again_and_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, until: Any
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program, told = tmp_path / "nvidia-smi", (tmp_path / "nvidia-smi").read_text()
    program.write_text(f"#!/bin/sh\n{trouble.format(tmp_path)} exit 15\n")
    monkeypatch.setattr(gpumemory, "_PATIENCE", 0.1)
    with pytest.raises(ToolError, match="which GPUs this machine has is not known"):
        ended(":", gpu_memory="20GiB")
    with pytest.raises(ToolError, match="it is asked again in a minute"):
        ended(":", gpu_memory="20GiB")

    slow = f"touch {tmp_path}/asked; until [ -e {tmp_path}/go ]; do /bin/sleep .01; done"
    program.write_text(told.replace("\n", f"\n{slow}\n", 1))
    (tmp_path / "over").touch()
    monkeypatch.setattr(gpumemory, "_PATIENCE", 1e6)
    monkeypatch.setattr(gpumemory, "_AGAIN", 0.0)
    until(lambda: 1 == shell(":", gpu_memory="20GiB").at_once and (tmp_path / "asked").exists())
    (tmp_path / "go").touch()

    until(lambda: 3 == shell(":", gpu_memory="20GiB").at_once)


@pytest.mark.usefixtures("one_gpu")
def test_a_driver_that_is_not_loaded_says_that_there_is_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")

    assert 0 == ended(":", gpu_memory="whole").code


@pytest.mark.parametrize(
    ("given", "here", "most"),
    [
        ("whole", "80GiB,80GiB", 2), ("30GiB", "80GiB,20GiB", 2), ("90GiB", "80GiB", 1),
        ("whole", "", 1), (0, "80GiB", None), (0, "", None),
    ],
)  # fmt: skip
def test_how_many_have_room_at_once(
    given: Any, here: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", here)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("verifier_ladder.services.gpumemory._asked", lambda _: ())

    assert most == shell(":", gpu_memory=given).at_once


def test_what_fits_on_no_gpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "80GiB")

    with pytest.raises(ToolError, match="/bin/sh takes 90 GiB of GPU memory, and the largest"):
        ended(":", gpu_memory="90GiB")


# ---- The file


def test_programs_are_named_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "shells.toml"
    path.write_text("[one]\ncommand = ['./run', '../x', 'y']\nversion = '2'\n")

    found = read_programs("VLADDER_SHELLS", path, Shell, ["one", "two"])

    assert [f"{tmp_path}/run", f"{tmp_path.parent}/x", "y"] == found["one"].command
    with pytest.raises(ConfigError, match=r"VLADDER_SHELLS=.*no profile 'one'; there are two"):
        read_programs("VLADDER_SHELLS", path, Shell, ["two"])


def test_a_command_is_known_by_its_place_though_it_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to("/bin/sh")
    program = Shell(command=["./python"], version="1").seen_from(tmp_path / "shells.toml")

    assert [f"{tmp_path}/python"] == program.command
