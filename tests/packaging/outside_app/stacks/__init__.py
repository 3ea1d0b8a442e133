"""The team's stack."""
