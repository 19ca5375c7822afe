"""Reads: what people and programs ask of checkouts, orders and keys."""
