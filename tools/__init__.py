"""Scripts for developers, outside of the package."""
