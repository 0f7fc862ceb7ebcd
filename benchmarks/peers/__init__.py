"""The programs that are compared. Each is started by its name: `python -m benchmarks.peers.kr8s_list ...`."""
