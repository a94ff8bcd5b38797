"""The simulation tier: semi-empirical methods, judges, and replays of what has been."""
