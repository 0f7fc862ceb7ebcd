"""The command `ui`: it serves the console, or writes the manifests that deploy it."""
