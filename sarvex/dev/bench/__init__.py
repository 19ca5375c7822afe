"""`make bench`: requests per second, latencies and memory, beside a view without protection."""
