"""Answer keys: cases with known answers, one file of JSON lines for each verifier."""
