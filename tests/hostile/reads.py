"""Run every command that reads a registry in one process, and print what each came to and how much memory it took."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.registries import RUN, RUN_NAME, kstore

READS = {
    "verify": ["verify", "--no-cache"],
    "verify --rev": ["verify", "--rev", "HEAD", "--no-cache"],
    "audit": ["audit"],
    "list": ["list"],
    "show": ["show", RUN],
    "resolve": ["resolve", RUN_NAME],
    "log": ["log"],
}

if __name__ == "__main__":
    ran = {name: kstore("--registry", Path(sys.argv[1]), *arguments) for name, arguments in READS.items()}
    # getrusage would count what the process that started this one took when it did (Linux keeps it across exec).
    peak = re.search(r"^VmHWM:\s+([0-9]+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert peak is not None, "Linux says how much memory a process took at most"
    memory = int(peak[1]) * 1024
    said = {name: [each.code, each.text, each.err] for name, each in ran.items()}
    sys.stdout.write(json.dumps({"memory": memory, "ran": said}))
