"""The commands: each reads its options, asks `idem.operators`, and prints the answer."""
