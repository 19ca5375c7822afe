"""What events of the outbox reach."""
