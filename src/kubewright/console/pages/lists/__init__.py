"""The pages that list kinds and objects, and the search."""
