"""A Stripe that moves no money and misbehaves on request.

It imports nothing of ours and no Django: it could be started on a machine that has neither.
"""
