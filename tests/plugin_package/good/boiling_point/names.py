"""A verifier as a function."""

import verifier_ladder as vl


@vl.verifier(name="short-name", version="5", kind="molecule")
def short_name(candidate: vl.Candidate) -> bool:
    """Whether the SMILES fits on a label."""
    return len(candidate.content) < 20
