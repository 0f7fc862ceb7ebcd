"""Help without a network: the bundled documentation, and the catalog of errors."""
