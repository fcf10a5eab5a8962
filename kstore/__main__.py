"""The program: run the command line and turn errors into messages and exit codes."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

_OBJECTS_A_COLLECTION = 50_000


def main() -> None:
    """Run `kstore` with the process's arguments and exit."""
    # Start-up makes many objects that stay until the process ends. Looking for cycles among them as often as usual, and
    # once more at the end, takes a fifth of a short command.
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the output has read enough; what is left of it must not be complained about at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _run() -> None:
    from kstore.cli.app import app
    from kstore.cli.output import complain
    from kstore.errors import InvalidDocumentError, KstoreError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Records are UTF-8, whatever the locale says; a file's name may be other bytes (PEP 383).
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        try:
            app(prog_name="kstore")
        finally:
            sys.stdout.flush()
    except InvalidDocumentError as error:
        for fault in error.faults:
            complain(str(fault))
        sys.exit(error.exit_code)
    except KstoreError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"{error.filename or 'output'}: {error.strerror}")
        sys.exit(1)


if __name__ == "__main__":
    main()
