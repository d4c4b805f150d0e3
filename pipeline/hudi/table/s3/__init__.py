"""Objects on S3: requests, credentials, settings, and the storage made of them."""
