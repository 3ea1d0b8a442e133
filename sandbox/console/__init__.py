"""A local page to see the mechanism at work: records and their lives, the access patterns, a race, redeliveries.

On the account of `make sandbox`, on one of its own, or on a real table; there it only reads, unless it is told otherwise.
"""
