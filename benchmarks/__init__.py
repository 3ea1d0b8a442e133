"""What this product costs beside its peers and beside bare boto3 calls: `make bench`."""
