"""Built-in verifiers, one folder per tier. Each module loads its heavy libraries when used."""
