"""Conformance kits and fakes for tests of your own verifiers and ledgers.

Importing a kit needs pytest; `import verifier_ladder` never loads this package.
"""
