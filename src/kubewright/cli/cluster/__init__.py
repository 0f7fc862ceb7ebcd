"""Commands that work on a cluster: `install`, `uninstall`, `deploy`, `undeploy`, `doctor`, `why`."""
