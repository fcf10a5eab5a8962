"""Signatures: keys, envelopes, statements, trust policies, checkpoints."""
