"""The world tier: laboratories, experts and tables of what was measured; never simulated."""
