"""Bearer tokens (JWT) and the keys that verify them."""
