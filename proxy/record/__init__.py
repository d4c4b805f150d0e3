"""The record of one statement for operators, without secrets."""
