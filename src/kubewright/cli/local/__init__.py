"""Commands that run programs on this machine: `run`, `dev`, `test`, `cluster`, `controlplane`."""
