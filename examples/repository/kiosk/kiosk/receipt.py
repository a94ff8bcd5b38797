"""Receipts: a basket as people read it."""

from kiosk import money, text


def rows(basket):
    """A row for each line, one for what it saves, and one for the total."""
    found = []
    for line in basket.lines:
        found.append((line.item.name, str(line.count), money.show(line.item.price * line.count)))
        if line.saved:
            found.append(("  offer", "", money.show(-line.saved)))
    return [*found, ("total", "", money.show(basket.total))]


def receipt(basket):
    """The whole receipt, one line of text for each row."""
    return "\n".join(text.columns(rows(basket)))
