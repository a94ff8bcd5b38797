"""Verifiers that look at one candidate at a time."""

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ToolError
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Verdict


class Picky(SingleVerifier):
    name, version = "picky", "1"

    def examine(self, candidate: Candidate) -> Verdict:
        text = str(candidate.content)
        if text == "bad":
            raise CandidateError("it is bad")
        if text == "stuck":
            raise ToolError("the tool is stuck")
        return Verdict.accept(1.0 / len(text))


def test_an_error_costs_only_its_own_candidate() -> None:
    batch = [Candidate("text", text) for text in ("ok", "bad", "stuck", "", "fine")]

    verdicts = Picky().judge(batch)

    assert ["accept", "reject", "abstain", "abstain", "accept"] == [v.outcome for v in verdicts]
    assert [None, None, "tool", "verifier", None] == [v.failed_at for v in verdicts]
