"""`python -m idem`: the operators' commands."""

import sys


def main() -> None:
    """Start the command line, or say what is missing."""
    try:
        from idem.operators.cli import main as run  # noqa: PLC0415 - an import that may fail with a remedy
    except ModuleNotFoundError as missing:
        sys.exit(f"This needs the package {missing.name}: install idem again with its extra `cli` (README, Install)")
    run()


if __name__ == "__main__":
    main()
