"""Engines: where checks are executed.

Nothing is imported here: a worker process that replaces another imports this package first, and
should start quickly.
"""
