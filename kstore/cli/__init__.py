"""The command line: one file a command, which parses its arguments, calls one action and renders what it gives."""
