"""Moving over from the idempotency of Powertools for AWS Lambda."""
