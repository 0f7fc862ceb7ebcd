"""Suites that Kubernetes and controller-runtime publish: run on both clusters, and counted. Not part of the tests."""
