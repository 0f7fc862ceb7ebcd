"""The page of one object: its head and its tabs."""
