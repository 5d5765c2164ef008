"""The command, also as `python -m frontguard`: Ctrl-C is answered while the command line is imported, too."""

import sys


def main() -> None:
    """Run the command line, and leave with its exit code."""
    code = 130
    try:
        import atexit
        import os

        # What is registered first is called last: all else that is due was done, and the system takes back all memory.
        # For Python to take apart what a large log has made, object by object, takes 0.3 s.
        atexit.register(lambda: os._exit(code))
        from frontguard.cli import run_command
    except KeyboardInterrupt:
        sys.exit(code)
    code = run_command()
    sys.exit(code)


if __name__ == "__main__":
    main()
