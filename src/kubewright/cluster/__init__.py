"""The embedded cluster: a Kubernetes API server inside this process."""
