"""The page of the operators that the console knows."""
