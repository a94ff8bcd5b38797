"""The fast tier: parsers, rules and estimates, in microseconds to milliseconds."""
