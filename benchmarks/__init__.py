"""Benchmarks: Kubewright beside its peers, on one real kube-apiserver, in one run.

`python -m benchmarks` (or `make bench`) measures two things: listing objects with a client (`listing`), and operators
at work (`reconciling`). Each program runs in a fresh process of its own and is measured from outside (`measure`), all
in the same way, turn by turn. The table is printed, and everything that was measured is written as JSON.
"""
