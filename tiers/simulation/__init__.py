"""The simulation tier: semi-empirical methods, in milliseconds to seconds."""
