"""`python -m vertwin`: the same as the command `vertwin`."""

import sys

from vertwin.cli import main

if __name__ == "__main__":
    sys.exit(main())
