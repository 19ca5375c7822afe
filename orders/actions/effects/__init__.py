"""What follows from an operation's end, for each type of operation."""
