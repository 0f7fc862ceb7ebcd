"""Processes that never outlive the process that started them, also if that is killed.

A supervisor process (`_program.py`: read it first) starts them and kills them with all their descendants when its owner
ends. `Supervisor` is its client for asyncio: `ProcessNode` runs containers with it. `launch` starts the program for
other clients: the control plane of tests has a blocking one.
"""

from __future__ import annotations

from kubewright.supervision._launch import launch
from kubewright.supervision._supervisor import Mounts, Supervised, Supervisor, SupervisorGone

__all__ = ["Mounts", "Supervised", "Supervisor", "SupervisorGone", "launch"]
