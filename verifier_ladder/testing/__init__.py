"""Conformance kits and fakes for tests of your own verifiers, policies and ledgers.

Importing a kit needs pytest, and that for policies hypothesis as well; `import verifier_ladder`
never loads this package.
"""
