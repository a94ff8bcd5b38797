"""Crystals and settings that would have a library open a file, run a command or evaluate text."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from crystals import PROTOTYPES, cif, poscar, xyz
from threadpoolctl import threadpool_limits

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.registry import Registry
from verifier_ladder.tiers.fast.crystal import CrystalCanonicaliser
from verifier_ladder.tiers.fast.crystalgate import CrystalGate
from verifier_ladder.tiers.simulation.aseenergy import AseEnergy
from verifier_ladder.tiers.simulation.aseequation import AseEquationOfState
from verifier_ladder.tiers.simulation.aserelax import AseRelax
from verifier_ladder.verdict import Outcome

SALT, COPPER = PROTOTYPES["NaCl"], PROTOTYPES["Cu"]
BAIT = "/tmp/vladder-bait"  # noqa: S108 - nothing may look for it
WATCHED = (
    "open", "os.listdir", "os.scandir", "os.system", "os.exec", "os.posix_spawn", "os.fork",
    "subprocess.Popen", "exec", "compile", "pickle.find_class", "socket.connect", "ctypes.dlopen",
)  # fmt: skip
TEXT, TABLE, FRAMES = poscar(COPPER), cif(COPPER), xyz(COPPER)
PROGRAM = f"__import__('os').system('touch {BAIT}')"
CANDIDATES = {
    "a file's name": BAIT,
    "a file's name with an index": f"{BAIT}@0:",
    "an address": f"file://{BAIT}",
    "a database": f"{BAIT}.db@id=1",
    "a pattern of names": "/tmp/vladder-*",  # noqa: S108
    "a command as title": TEXT.replace("Cu\n1.0", f"$(touch {BAIT})\n1.0", 1),
    "a command as element": TEXT.replace("\nCu\n", f"\n$(touch/{BAIT})\n"),
    "a potential's file": TEXT.replace("\nCu\n", f"\nCu/../..{BAIT}\n"),
    "a program as scale": TEXT.replace("\n1.0\n", f"\n{PROGRAM}\n"),
    "a program as coordinate": TEXT.replace("0.5000000000", PROGRAM, 1),
    "a program as count": TEXT.replace("\n4\n", "\n4if(1)else(2)\n"),
    "a program as lattice": FRAMES.replace('Lattice="', f'Lattice="{PROGRAM} '),
    "a program as property": FRAMES.replace("pbc=", f'info="_JSON {PROGRAM}" pbc='),
    "a pickle as property": FRAMES.replace("pbc=", "momenta=gASVCg== pbc="),
    "a program as columns": FRAMES.replace("pos:R:3", f"pos:R:{PROGRAM}"),
    "a calculator's name": FRAMES.replace("pbc=", f"calculator=espresso command={BAIT} pbc="),
    "a program as operation": TABLE.replace("x, y, z", f"{PROGRAM}, y, z"),
    "a division by zero": TABLE.replace("x, y, z", "x+1/0, y, z"),
    "a file of space groups": TABLE.replace(
        "loop_\n_symmetry_equiv_pos_as_xyz\n'x, y, z'", f"_symmetry_Int_Tables_number {BAIT}", 1
    ),
    "an included file": TABLE.replace("data_Cu", f"data_Cu\n_include {BAIT}\n_cell_volume {BAIT}"),
    "a template": TEXT.replace("1.0", "{0.__class__}", 1),
    "an environment variable": TEXT.replace("\n1.0\n", "\n$HOME\n"),
}  # fmt: skip
KINDS = (AseEnergy, AseRelax, AseEquationOfState, CrystalGate)
SETTINGS: dict[str, dict[str, Any]] = {
    "a module": {"calculator": "os.system"},
    "a path": {"calculator": BAIT},
    "a module of ASE": {"calculator": "ase.calculators.espresso.Espresso"},
    "a name of ASE": {"calculator": "vasp"},
    "a program's command": {"calculator": {"name": "espresso", "command": f"touch {BAIT}"}},
    "a program's folder": {"calculator": {"name": "abinit", "pseudo_dir": BAIT}},
    "a program's words": {"calculator": {"name": "espresso", "input_data": {"outdir": BAIT}}},
    "a command": {"calculator": {"name": "emt", "command": f"touch {BAIT}"}},
    "a checkpoint": {"calculator": {"name": "emt", "checkpoint": BAIT}},
    "a label": {"calculator": {"name": "emt", "label": BAIT, "directory": "/tmp"}},  # noqa: S108
    "a configuration": {"calculator": {"name": "tblite", "xtb_config": {"file": BAIT}}},
    "a method's file": {"calculator": {"name": "tblite", "method": BAIT}},
    "a network's file": {"calculator": {"name": "sevennet", "model": BAIT}},
    "a network's download": {"calculator": {"name": "sevennet", "model": "7net-omni"}},
    "a second network's file": {"calculator": {"name": "sevennet", "second": BAIT}},
    "a device": {"calculator": {"name": "sevennet", "device": "cuda"}},
    "an optimiser": {"optimiser": "os.system"},
    "an optimiser's file": {"optimiser": BAIT},
    "a log": {"logfile": BAIT},
    "a trajectory": {"trajectory": BAIT},
    "a restart": {"restart": BAIT},
    "a list of elements": {"elements": [PROGRAM]},
}
_seen: list[str] = []
_watching = [False]


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching[0] and event in WATCHED:
        _seen.append(f"{event} {str(arguments[0])[:100] if arguments else ''}")


sys.addaudithook(_hook)  # It stays, and says nothing while nobody watches.


@contextmanager
def watched() -> Iterator[list[str]]:
    """What the interpreter opens, starts and evaluates meanwhile."""
    _seen.clear()
    _watching[0] = True
    try:
        yield _seen
    finally:
        _watching[0] = False


@pytest.fixture(scope="module")
def judges() -> list[Callable[[str], object]]:
    """All that reads a crystal, warm, so that no module is loaded any more."""
    by = CrystalCanonicaliser()
    verifiers = [kind() for kind in KINDS]
    for verifier in verifiers:
        verifier.setup()

    def canonical(text: str) -> object:
        try:
            return by.canonicalise(text)
        except Exception as error:  # noqa: BLE001 - told, and not looked at
            return error

    judges: list[Callable[[str], object]] = [canonical]
    judges += [
        lambda text, each=each: each.judge([Candidate("crystal", text)])[0]  # type: ignore[misc]
        for each in verifiers
    ]
    for judge in judges:
        for text in (TEXT, TABLE, FRAMES, "nothing", poscar(SALT), poscar(COPPER.scaled(0.6))):
            judge(text)
        judge(TABLE.replace("loop_\n_symmetry_equiv_pos_as_xyz\n'x, y, z'", "", 1))
    return judges


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a worker: on matrices this small, more threads only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def _needs_spglib(require: Callable[..., None]) -> None:
    require("spglib", find_spec("spglib") is not None, "finds the symmetry of crystals")


def test_the_watch_sees_what_it_should(tmp_path: Path) -> None:
    with watched() as seen:
        (tmp_path / "x").write_text("x")
        eval("1 + 1")  # noqa: S307 - that it is seen

    assert ["open", "compile", "exec"] == [line.split()[0] for line in seen]


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_makes_no_library_open_run_or_evaluate_anything(
    name: str, judges: list[Callable[[str], object]]
) -> None:
    assert CANDIDATES[name] not in {TEXT, TABLE, FRAMES}, "the attack is not in it"
    with watched() as seen:
        for judge in judges:
            judge(CANDIDATES[name])

    assert [] == seen
    assert not Path(BAIT).exists()


@pytest.mark.usefixtures("judges")  # Their libraries are loaded before.
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_refused_before_anything_is_opened_or_run(name: str) -> None:
    registry = Registry()
    registry.hold([kind() for kind in KINDS])
    with watched() as seen:
        for kind in KINDS:
            with pytest.raises(ConfigError):
                registry.create(kind.name, SETTINGS[name])

    # Names of calculators are looked up in what installed packages say of themselves.
    reading = ("open ", "os.listdir ", "os.scandir ")
    assert [] == [line for line in seen if BAIT in line or not line.startswith(reading)]
    assert not Path(BAIT).exists()


def test_a_crystal_beside_them_is_still_judged(judges: list[Callable[[str], object]]) -> None:
    verdicts: list[Any] = [judge(TEXT) for judge in judges[1:]]

    assert {Outcome.ACCEPT} == {verdict.outcome for verdict in verdicts}
