"""Functions that wrap a consumer's work and give back work."""
