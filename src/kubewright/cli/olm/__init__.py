"""Commands for the Operator Lifecycle Manager: `bundle`, `catalog`, `run-bundle`."""
