"""What a small shop computes: money, quantities, offers and receipts."""
