"""This much can be imported."""
