"""Boiling points, estimated."""
