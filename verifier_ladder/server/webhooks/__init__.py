"""Webhooks: the world's results in, revisions out, signed as Standard Webhooks says."""
