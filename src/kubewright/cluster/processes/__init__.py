"""Nodes that run pods as processes of this machine, without containers.

`Images` says which program an image stands for; nothing else runs. `ProcessNode` is a `FakeNode` whose pods with mapped
images are processes. It uses the API alone, so it works on the embedded cluster and on a real control plane.

This is not a sandbox: programs run with the rights of the node's user.
"""

from __future__ import annotations

from kubewright.cluster.processes._images import Image, Images, ImagesError, Refused

__all__ = ["Image", "Images", "ImagesError", "Refused"]
