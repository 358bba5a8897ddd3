"""`python -m evenhand.cli` is the command line."""

import sys

from evenhand.cli import main

if __name__ == "__main__":
    sys.exit(main())
