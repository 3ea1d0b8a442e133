"""What operators do with records: look, decide, change, prove. The commands and the sandbox's console use it.

Needs the `cli` extra. Nothing here has rules of its own about records: what a record means is asked of `record.decide`, and what
changes one is one conditional write on exactly the version that was shown.
"""
