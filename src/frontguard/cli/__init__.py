"""The command line: thin. Every command answers first; messages go to stderr, `--json` to stdout."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit code: 0 done, 2 bad input, 130 interrupted."""
    from frontguard.cli.app import app
    from frontguard.errors import BadInput

    try:
        app(prog_name="frontguard")
    except BadInput as error:
        print(f"frontguard: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("frontguard: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to complain to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
