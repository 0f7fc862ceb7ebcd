"""A package, so that its control plane ends with its last test (`scope="package"`)."""
