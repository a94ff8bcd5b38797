"""Plain text in columns."""


def columns(rows, gap=2):
    """Rows of texts as lines; the first column to the left, all others to the right."""
    if not rows:
        return []
    widths = [len(cell) for cell in rows[0]]
    space = " " * gap
    return [space.join(_placed(row, widths)).rstrip() for row in rows]


def _placed(row, widths):
    first, *others = zip(row, widths)
    return [first[0].ljust(first[1])] + [cell.rjust(width) for cell, width in others]
