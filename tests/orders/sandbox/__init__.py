"""The sandbox Stripe, through the real SDK over real HTTP against the real process."""
