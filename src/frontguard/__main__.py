"""`python -m frontguard`."""

from frontguard.cli import main

if __name__ == "__main__":
    main()
