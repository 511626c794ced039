"""`python -m unbloat` is the command line."""

import sys

from unbloat.cli import main

sys.exit(main())
