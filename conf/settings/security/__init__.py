"""Who logs in to what and how, what they are denied, and the encryption of connections."""
