"""A package, so that its control plane is gone with its last test: an idle one still takes a tenth of a core."""
