"""The high-fidelity tier: density functional theory, in seconds to hours."""
