"""The page of all problems: failing objects of all kinds, worst first."""
