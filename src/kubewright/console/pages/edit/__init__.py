"""The pages that create, change and delete objects."""
