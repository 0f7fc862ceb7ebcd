"""Commands that package an operator: `manifests`, `installer`, `chart`, `build`."""
