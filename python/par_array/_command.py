"""The command `par`."""

import os
import signal
import sys

from . import _native


def main() -> None:
    """Does what the command line says."""
    # As for any command: Ctrl-C ends it, and so does nobody reading what it prints.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    status = _native.command(["par", *sys.argv[1:]], os.path.abspath(sys.argv[0]))
    os._exit(status)
