"""Webhooks: a request is verified, its events get their identity, and the provider gets an answer that it understands."""
