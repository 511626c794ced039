"""`python -m unbloat` is the command line."""

import sys

from unbloat.command import main

sys.exit(main())
