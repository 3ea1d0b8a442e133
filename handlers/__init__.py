"""The pattern to copy: one file per consumer, with its key rule, its work, its policy and its handler, in this order."""
