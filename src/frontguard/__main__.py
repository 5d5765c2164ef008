"""The command, also as `python -m frontguard`: Ctrl-C is answered while the command line is imported, too."""

import sys


def main() -> None:
    """Run the command line, and leave with its exit code."""
    try:
        from frontguard.cli import run_command
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run_command())


if __name__ == "__main__":
    main()
