"""The language of claims over results, and their verdicts: papers have it, suites and expectations may."""
