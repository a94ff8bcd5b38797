"""Casework: open cases as people and laboratories meet them: shown, sent out and answered."""
