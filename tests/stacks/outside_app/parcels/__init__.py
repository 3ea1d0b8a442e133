"""What the team ships to Lambda."""
