"""What a predictor may leave, sound and not, by name; and a verifier of such files for keys.

The files are synthetic: no predictor was run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from synthetic_folds import LAYOUTS, Fold, folded, packed, written

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.fast.criteria import Criteria
from verifier_ladder.tiers.fast.sequence import protein_of
from verifier_ladder.tiers.simulation.predictors import PROFILES, Output, Request
from verifier_ladder.tiers.simulation.proteinmodel import crowd, geometry
from verifier_ladder.tiers.simulation.structureprediction import QUANTITIES, SOUND
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Verdict

Files = dict[str, Any]


# ---- Models that nature does not build


def mirrored(fold: Fold) -> Fold:
    """The branch of the third residue on the other side."""
    n, ca, c = (fold.at(2, name) for name in ("N", "CA", "C"))
    normal = np.cross(n - ca, c - ca)
    normal /= np.linalg.norm(normal)
    moves = {
        number: (place := np.array(atom.place)) - 2 * ((place - ca) @ normal) * normal
        for number, atom in enumerate(fold.atoms)
        if (atom.chain, atom.residue) == (0, 2) and atom.name not in ("N", "CA", "C", "O")
    }
    return fold.moved(moves)


def flattened(fold: Fold) -> Fold:
    """CB of the third residue in the plane of its backbone."""
    n, ca, c = (fold.at(2, name) for name in ("N", "CA", "C"))
    along = 2 * ca - (n + c) / 2 - ca
    return fold.moved({fold.number(2, "CB"): ca + 1.53 * along / np.linalg.norm(along)})


def clashing(fold: Fold, first: int = 0) -> Fold:
    """The last atom of the first residue, or a later one, on the oxygen of the tenth from it."""
    name = [atom.name for atom in fold.atoms if (atom.chain, atom.residue) == (0, first)][-1]
    return fold.moved({fold.number(first, name): fold.at(first + 9, "O") + 0.9})


def touching(fold: Fold, by: float = 2.8) -> Fold:
    """The same beside the end of the tenth residue, 2.8 Å away as hydrogen bonds are: no clash."""
    first, tenth = (
        [atom.name for atom in fold.atoms if (atom.chain, atom.residue) == (0, residue)][-1]
        for residue in (0, 9)
    )
    along = fold.at(9, "CB") - fold.at(9, "CA")
    away = by * along / np.linalg.norm(along)
    return fold.moved({fold.number(0, first): fold.at(9, tenth) + away})


def broken(fold: Fold, by: float = 3.0) -> Fold:
    """All from the sixth residue on moved along the bond that binds it."""
    along = fold.at(5, "N") - fold.at(4, "C")
    shift = by * along / np.linalg.norm(along)
    return fold.moved({
        n: np.array(atom.place) + shift
        for n, atom in enumerate(fold.atoms) if atom.chain == 0 and atom.residue >= 5
    })  # fmt: skip


def bent(fold: Fold) -> Fold:
    """All from the sixth residue on moved aside, in the plane of the peptide that binds it."""
    along = fold.at(5, "N") - fold.at(4, "C")
    aside = fold.at(4, "CA") - fold.at(4, "C")
    aside -= (aside @ along) / (along @ along) * along
    shift = 0.7 * aside / np.linalg.norm(aside)
    return fold.moved({
        n: np.array(atom.place) + shift
        for n, atom in enumerate(fold.atoms) if atom.chain == 0 and atom.residue >= 5
    })  # fmt: skip


def stretched(fold: Fold, by: float = 0.2) -> Fold:
    """Each oxygen of the backbone farther away."""
    moves = {}
    for number, atom in enumerate(fold.atoms):
        if atom.name == "O":
            carbon = fold.at(atom.residue, "C", atom.chain)
            along = np.array(atom.place) - carbon
            moves[number] = np.array(atom.place) + by * along / np.linalg.norm(along)
    return fold.moved(moves)


def collapsed(fold: Fold) -> Fold:
    """All of it in a tenth of its width."""
    return fold.moved({n: 0.1 * np.array(atom.place) for n, atom in enumerate(fold.atoms)})


def doubtful(fold: Fold) -> Fold:
    """A confidence of 40 throughout."""
    return replace(fold, plddt=(40.0,) * len(fold.plddt))


def sure(fold: Fold) -> Fold:
    """All confidences as high as they can be."""
    return replace(fold, plddt=(100.0,) * len(fold.plddt), ptm=1.0, iptm=1.0)


FOLDS: Mapping[str, Callable[[Fold], Fold]] = {
    "mirrored": mirrored, "flattened": flattened, "clashing": clashing, "touching": touching,
    "broken": broken, "nearly broken": lambda fold: broken(fold, 0.6), "stretched": stretched,
    "collapsed": collapsed,
    "hardly stretched": lambda fold: stretched(fold, 0.05), "doubtful": doubtful,
    "twisted": lambda fold: folded(fold.chains, omega=140.0),
    "hardly twisted": lambda fold: folded(fold.chains, omega=160.0),
    "cis": lambda fold: folded(fold.chains, omega=0.0),
    "in another order": lambda fold: folded(fold.chains[::-1]),
    "iptm 0": lambda fold: replace(fold, iptm=0.0),
    "touching closely": lambda fold: touching(fold, 2.65),
    "sure": sure, "bent": bent, "clashing late": lambda fold: clashing(fold, 14),
    "of another protein": lambda fold: folded([chain[::-1] for chain in fold.chains]),
    "with a chain more": lambda fold: folded((*fold.chains, "GG")),
}  # fmt: skip
"""Edits of a model."""


# ---- Files that are broken, not whole, or inconsistent


def ending(files: Files, end: str) -> str:
    """The path of the file that a profile reads, by how it ends; the shortest of several."""
    return min((name for name in files if name.endswith(end)), key=len)


def _model(files: Files) -> str:
    return ending(files, ".cif" if any(name.endswith(".cif") for name in files) else ".pdb")


def _confidences(files: Files) -> str:
    if any("summary" in name for name in files):
        return ending(files, "_summary_confidences.json")
    return next(name for name in files if "confidence_" in name or "scores" in name)


def model_edit(change: Callable[[list[str]], list[str]]) -> Callable[[Files], None]:
    """An edit of the lines of a model's file."""

    def edit(files: Files) -> None:
        name = _model(files)
        files[name] = "\n".join(change(files[name].split("\n")))

    return edit


def json_edit(change: Callable[[Any], Any]) -> Callable[[Files], None]:
    """An edit of the file that holds pTM."""

    def edit(files: Files) -> None:
        name = _confidences(files)
        files[name] = json.dumps(change(json.loads(files[name])))

    return edit


def _atoms(lines: list[str]) -> list[int]:
    return [n for n, line in enumerate(lines) if line.startswith("ATOM")]


def _without(count: int) -> Callable[[list[str]], list[str]]:
    """Lines without the last atoms."""

    def change(lines: list[str]) -> list[str]:
        gone = set(_atoms(lines)[-count:])
        return [line for n, line in enumerate(lines) if n not in gone]

    return change


def _again(lines: list[str]) -> list[str]:
    place = _atoms(lines)[4]
    return [*lines[: place + 1], lines[place], *lines[place + 1 :]]


def _renamed(old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [line.replace(old, new) for line in lines]


def _coordinate(text: str) -> Callable[[list[str]], list[str]]:
    """The first coordinate of an atom is another text of as many signs."""

    def change(lines: list[str]) -> list[str]:
        place = _atoms(lines)[7]
        line = lines[place]
        if len(line) > 60 and line[26:30].isspace():  # PDB has columns.
            lines[place] = line[:30] + text.rjust(8) + line[38:]
        else:
            words = line.split(" ")
            words[10] = text
            lines[place] = " ".join(words)
        return lines

    return change


def _set(**changes: Any) -> Callable[[Any], Any]:
    return lambda said: {**said, **changes}


def _lacking(name: str) -> Callable[[Any], Any]:
    return lambda said: {key: value for key, value in said.items() if key != name}


def plddt_edit(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Any:
    """An edit of pLDDT, wherever it stands."""

    def edit(files: Files) -> None:
        packs = [name for name in files if "plddt_" in name]
        if packs:
            values = np.load(BytesIO(files[packs[0]]))["plddt"]
            files[packs[0]] = packed(plddt=change(values))
            return
        own = any("summary" in name for name in files)
        name = ending(files, "fold_confidences.json") if own else _confidences(files)
        said = json.loads(files[name])
        key = "atom_plddts" if own else "plddt"
        said[key] = change(np.array(said[key])).tolist()
        files[name] = json.dumps(said)

    return edit


def pae_edit(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Any:
    """An edit of PAE, wherever it stands."""

    def edit(files: Files) -> None:
        for name in [name for name in files if "pae_" in name]:
            files[name] = packed(pae=change(np.load(BytesIO(files[name]))["pae"]))
        for name in [name for name in files if name.endswith(".json")]:
            said = json.loads(files[name])
            if "pae" in said:
                files[name] = json.dumps({**said, "pae": change(np.array(said["pae"])).tolist()})

    return edit


def _put(name: Callable[[Files], str], content: Any) -> Callable[[Files], None]:
    return lambda files: files.update({name(files): content})


def _gone(name: Callable[[Files], str]) -> Callable[[Files], None]:
    return lambda files: files.pop(name(files)) and None


def _halved(name: Callable[[Files], str]) -> Callable[[Files], None]:
    return lambda files: files.update(
        {name(files): files[name(files)][: len(files[name(files)]) // 2]}
    )


def _packed(files: Files) -> None:
    name = _model(files)
    files[f"{name}.zst"] = files.pop(name)


STRANGERS = (("ZN", "ZN"), ("HOH", "O"), ("LIG", "C1"), ("LIG", "O1"))
"""Residue and atom of what stands beside a protein."""


def _like(line: str, **parts: Any) -> str:
    """A line of an atom with other words: `group`, `name`, `label`, `residue`, `chain`, `z`."""
    if len(line) > 60 and line[26:30].isspace():
        places = {"group": (0, 6), "name": (12, 16), "label": (16, 17), "residue": (17, 20),
                  "chain": (21, 22), "number": (22, 26), "z": (46, 54), "occupancy": (54, 60),
                  "symbol": (76, 78)}  # fmt: skip
        for what, value in parts.items():
            start, end = places[what]
            text = f"{value:.3f}" if what == "z" else f"{value}"
            is_left = what in ("group", "name")
            line = line[:start] + (f"{text:<{end - start}s}" if is_left else
                                   f"{text:>{end - start}s}") + line[end:]  # fmt: skip
        return line
    words = line.split(" ")
    columns = {"group": (0,), "name": (3,), "label": (4,), "residue": (5,), "chain": (6, 16),
               "number": (8, 15), "z": (12,), "occupancy": (13,), "symbol": (2,)}  # fmt: skip
    for what, value in parts.items():
        for column in columns[what]:
            words[column] = f"{value:.3f}" if what == "z" else f"{value}"
    return " ".join(words)


def _strangers(lines: list[str], *, at_end: bool, chain: str, group: str = "HETATM") -> list[str]:
    """Lines with an ion, a water and a ligand behind or before those of the protein."""
    own = _atoms(lines)
    added = [
        _like(lines[own[-1]], group=group, name=name, residue=residue, chain=chain,
              number=901 + number // 3, symbol="ZN" if residue == "ZN" else name[0])
        for number, (residue, name) in enumerate(STRANGERS, 2 if chain == "X" else 0)
    ]  # fmt: skip
    place = own[-1] + 1 if at_end else own[0]
    return [*lines[:place], *added, *lines[place:]]


def besides(*, at_end: bool = True, chain: str = "X", is_told: bool = False) -> Any:
    """An edit that adds them, with a confidence of 1 or none."""

    def more(values: Any, axis: int = 0) -> Any:
        new = [values.min() / 50] * len(STRANGERS)
        return np.insert(values, [values.shape[axis] if at_end else 0] * 4, np.mean(new), axis)

    def edit(files: Files) -> None:
        model_edit(lambda lines: _strangers(lines, at_end=at_end, chain=chain))(files)
        if not is_told:
            return
        plddt_edit(more)(files)
        for name in [name for name in files if "pae_" in name]:
            files[name] = packed(pae=more(more(np.load(BytesIO(files[name]))["pae"]), 1))
        for name in [name for name in files if name.endswith(".json")]:
            said = json.loads(files[name])
            if "pae" in said:
                said["pae"] = more(more(np.array(said["pae"])), 1).tolist()
            if "token_res_ids" in said:
                said["token_res_ids"] += [1] * len(STRANGERS)
            if "complex_plddt" in said:
                values = np.load(BytesIO(files[ending(files, "plddt_fold_model_0.npz")]))["plddt"]
                said["complex_plddt"] = float(values.mean())
            files[name] = json.dumps(said)

    return edit


def alternates(
    first: float, *, moved: str, labels: str = "AB"
) -> Callable[[list[str]], list[str]]:
    """The third residue in two places, one of which is 4 Å away from where it is bound.

    Args:
        first: The occupancy of the first of them.
        moved: Which one is away.
        labels: What they are called.
    """

    def change(lines: list[str]) -> list[str]:
        own = _atoms(lines)
        numbers = [line[22:26] if line[26:30].isspace() else line.split(" ")[8]
                   for line in (lines[n] for n in own)]  # fmt: skip
        third = [n for n, number in zip(own, numbers, strict=True) if number.strip() == "3"]
        made = []
        for n, line in enumerate(lines):
            if n not in third:
                made.append(line)
                continue
            height = float(line[46:54] if line[26:30].isspace() else line.split(" ")[12])
            for label, occupancy in zip(labels, (first, 1 - first), strict=True):
                z = height + 4.0 * (label == moved)
                made.append(_like(line, label=label, occupancy=f"{occupancy:.2f}", z=z))
        return made

    return change


def _nameless(lines: list[str]) -> list[str]:
    """Chains without a name, each ended by TER in a PDB file."""
    made: list[str] = []
    last = ""
    for line in lines:
        if line.startswith("ATOM") and line[26:30].isspace():
            made += ["TER"] if last not in ("", line[21]) else []
            last = line[21]
            made.append(_like(line, chain=" "))
        elif line.startswith("ATOM"):
            words = line.split(" ")
            made.append(" ".join([*words[:16], "?", words[17]]))
        else:
            made.append(line)
    return made


def _two_models(lines: list[str]) -> list[str]:
    """The same once more, as the second model of the file."""
    own = _atoms(lines)
    if lines[0].startswith("MODEL"):
        end = lines.index("ENDMDL") + 1
        return [*lines[:end], "MODEL     2", *lines[1:]]
    again = [" ".join([*lines[n].split(" ")[:-1], "2"]) for n in own]
    return [*lines[: own[-1] + 1], *again, *lines[own[-1] + 1 :]]


def _apart(lines: list[str]) -> list[str]:
    """The first atom among those of a later residue."""
    own = _atoms(lines)
    first = lines.pop(own[0])
    lines.insert(own[20], first)
    return lines


def _other_rank(files: Files) -> None:
    for name in [name for name in files if name.endswith(".json") and "scores" in name]:
        files[name.replace("model_3", "model_4")] = files.pop(name)


EDITS: Mapping[str, Callable[[Files], None]] = {
    "nothing left": lambda files: files.clear(),
    "no model": _gone(_model), "an empty model": _put(_model, ""),
    "half a model": _halved(_model), "words for a model": _put(_model, "Traceback: out of memory"),
    "a compressed model": _packed, "a model of zeros": _put(_model, b"\0" * 1000),
    "no confidences": _gone(_confidences), "empty confidences": _put(_confidences, ""),
    "half of the confidences": _halved(_confidences),
    "fewer tokens": lambda files: files.update({
        name: files[name].replace('"token_res_ids": [1, ', '"token_res_ids": [')
        for name in files if name.endswith("fold_confidences.json")
    }),
    "a list for confidences": _put(_confidences, "[]"),
    "scores of another rank": _other_rank,
    "a residue less": model_edit(_without(6)), "an atom less": model_edit(_without(1)),
    "an atom twice": model_edit(_again),
    "another residue": model_edit(_renamed("ALA", "GLY")),
    "no amino acid": model_edit(_renamed("ALA", "HOH")),
    "an atom of another name": model_edit(_renamed(" CB ", " CX ")),
    "no number for a place": model_edit(_coordinate("nan")),
    "a place far away": model_edit(_coordinate("99999.9")),
    "all atoms in one place": model_edit(
        lambda lines: [
            line[:30] + "   0.000   0.000   0.000" + line[54:]
            if line.startswith("ATOM") and line[26:30].isspace()
            else " ".join([*line.split(" ")[:10], "0", "0", "0", *line.split(" ")[13:]])
            if line.startswith("ATOM") else line
            for line in lines
        ]
    ),
    "no ptm": json_edit(_lacking("ptm")), "ptm of another scale": json_edit(_set(ptm=78.0)),
    "a text for ptm": json_edit(_set(ptm="0.8")), "true for ptm": json_edit(_set(ptm=True)),
    "iptm of another scale": json_edit(_set(iptm=12.0)),
    "plddt of another scale": plddt_edit(
        lambda values: values * 100 if values.max() <= 1 else values / 100
    ),
    "plddt of fewer residues": plddt_edit(lambda values: values[:-1]),
    "plddt below 0": plddt_edit(lambda values: values - 2 * values.max()),
    "the mean of another run": json_edit(_set(complex_plddt=0.3)),
    "pairs of fewer chains": json_edit(
        lambda said: {**said, "chain_pair_iptm": [[1.0]], "pair_chains_iptm": {"0": {"0": 1.0}}}
    ),
    "a list for pairs": json_edit(_set(chain_pair_iptm=[1, 1], pair_chains_iptm={"0": 1, "1": 1})),
    "no pairs": json_edit(_set(chain_pair_iptm=None, pair_chains_iptm=None)),
    "others behind": besides(), "others before": besides(at_end=False),
    "others in a chain": besides(chain="A"),
    "others behind, told": besides(is_told=True),
    "others before, told": besides(at_end=False, is_told=True),
    "others for atoms of a chain": model_edit(
        lambda lines: _strangers(lines, at_end=True, chain="A", group="ATOM")
    ),
    "a modified residue": model_edit(
        lambda lines: [
            line.replace("MET", "MSE").replace("ATOM  ", "HETATM").replace("ATOM ", "HETATM ")
            if " MET " in line else line for line in lines
        ]
    ),
    "a second place": model_edit(alternates(0.7, moved="B")),
    "a likelier place": model_edit(alternates(0.3, moved="A")),
    "two places alike": model_edit(alternates(0.5, moved="B")),
    "a wrong place": model_edit(alternates(0.7, moved="A")),
    "no names": model_edit(_nameless),
    "two models": model_edit(_two_models), "an atom apart": model_edit(_apart),
    "an atom behind the end": model_edit(lambda lines: [*lines, lines[_atoms(lines)[0]]]),
    "a place twice": model_edit(alternates(0.5, moved="", labels="AA")),
    "texts for plddt": plddt_edit(lambda values: values.astype(str)),
    "pae of fewer residues": pae_edit(lambda values: values[:-1, :-1]),
    "pae in Fortran's order": pae_edit(np.asfortranarray),
    "no iptm": json_edit(_lacking("iptm")),
}  # fmt: skip
"""Edits of files."""


@cache
def usual(chains: tuple[str, ...]) -> Fold:
    """The model that is edited."""
    return folded(chains)


def files_of(chains: tuple[str, ...], task: Mapping[str, Any]) -> tuple[str, Files]:
    """The layout that a task names, and its files."""
    layout, fold = task.get("layout", "boltz"), usual(chains)
    for name in task.get("fold", ()):
        fold = FOLDS[name](fold)
    files = dict(LAYOUTS[layout](fold, **task.get("options", {})))
    for name in task.get("edits", ()):
        EDITS[name](files)
    return layout, files


@contextmanager
def left(files: Files) -> Iterator[Output]:
    """The files in a folder, as a program has left them."""
    with TemporaryDirectory() as place:
        written(Path(place), files)
        yield Output(Path(place))


class StructureFiles(SingleVerifier):
    """Judges a protein by files whose edits the task names, as `structure-prediction` would."""

    name = "structure-files"
    version = "1"
    kind = "protein"
    capabilities = ("reasoning",)
    domain = "biology"
    task_fields = None

    def examine(self, candidate: Candidate) -> Verdict:
        """Write the files, read them, and compare."""
        task = candidate.task or {}
        if unknown := {*task.get("edits", ())} - EDITS.keys():
            raise TaskError(f"there is no edit {unknown}")
        chains = protein_of(candidate.content)
        layout, files = files_of(chains, task)
        with left(files) as output:
            said = PROFILES[layout].read(output, Request(chains))
        criteria = Criteria(
            QUANTITIES, SOUND if "criteria" not in task else {}, task.get("score", "criteria")
        )
        windows = criteria.of(task)
        values = {**said.confidences, **geometry(said.model), "crowd": float(crowd(said.model))}
        return criteria.verdict(windows, values)
