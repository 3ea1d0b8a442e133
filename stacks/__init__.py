"""This repository's own deployment: the stack that composes the constructs of `idem.cdk`, and its stages."""
