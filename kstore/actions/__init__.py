"""What can be done with a registry: one verb, one file, one function, which neither prints nor exits."""
