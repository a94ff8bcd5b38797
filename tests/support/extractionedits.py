"""Edits of `extraction` that no verdict on a short answer shows; its own tests show them."""

EQUIVALENT = [
    # Blocks of code are marks of documents.
    "mark != 'block' -> mark == 'block'",
    "span.language in languages -> span.language not in languages",
    (
        "wanted or [span for span in spans if not span.language] -> "
        "wanted and [span for span in spans if not span.language]"
    ),
    # A setting.
    (
        "isinstance(marks, str) or not marks or any((mark not in known for mark in marks)) -> "
        "isinstance(marks, str) and (not marks) and any((mark not in known for mark in marks))"
    ),
    (
        "if isinstance(marks, str) or not marks or any((mark not in known for mark in marks)): "
        "raise Confi... -> if isinstance(marks, str) or not marks or any((mark not in known for "
        "mark in marks)): pass"
    ),
    # Bounds; so many answers are a hedge, and so long ones are wrong.
    (
        "if len(found) > _MOST: raise CandidateError('the output holds too many answers', "
        "feedback=how) -> if len(found) > _MOST: pass"
    ),
    (
        "if len(text) > longest: raise CandidateError(f'the output is {len(text)} characters "
        "long; at most... -> if len(text) > longest: pass"
    ),
]
