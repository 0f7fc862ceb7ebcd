"""A package, so that its control plane stops after its last test. An idle one takes a tenth of a core."""
