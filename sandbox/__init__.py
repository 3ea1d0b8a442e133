"""A throw-away AWS account on this machine, and the stack deployed to it.

MiniStack stands in for AWS. It is not AWS: what only AWS can show is listed in the README.
"""
