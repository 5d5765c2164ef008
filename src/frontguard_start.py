"""Where the command begins: Ctrl-C is answered from here on, also while the command line is imported."""


def main() -> None:
    """Run the command line, and leave with its exit code."""
    try:
        from frontguard.cli import run_command
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(run_command())
