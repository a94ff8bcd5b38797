"""mmCIF files of proteins, made from PDB files."""

COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_seq_id "
    "pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z auth_seq_id auth_asym_id pdbx_PDB_model_num"
)


def mmcif(peptide: str, *more: str) -> str:
    """A PDB file's atoms as an mmCIF file has them, and other rows behind."""
    rows = [
        f"ATOM {number} {name[0]} {name} . {residue} L{chain} {place} ? {x} {y} {z} {place} "
        f"{chain}{chain} 1"
        for _, number, name, residue, chain, place, x, y, z, *_ in map(
            str.split, filter(lambda line: line.startswith("ATOM"), peptide.splitlines())
        )
    ]
    head = "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
    return "\n".join(["data_1", "loop_", f"{head}{rows[0]}", *rows[1:], *more, "#", "_x.y 1"])
