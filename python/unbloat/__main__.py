"""`python -m unbloat` is the command line."""

import sys

from unbloat.cli.entry import main

sys.exit(main())
