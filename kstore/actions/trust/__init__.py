"""What can be done with a registry's trust: one verb a module."""
