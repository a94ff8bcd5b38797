"""Verifiers of no domain of their own: bridges to the checks of other libraries."""
