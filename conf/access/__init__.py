"""Rules about who may read and write what: what they are, and the file that has them."""
