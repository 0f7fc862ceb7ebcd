"""The packaged default roles match those of the real server."""

from __future__ import annotations

import msgspec
import pytest

from kubewright.cluster.data import read_data
from kubewright.testing import ControlPlane
from tools.generate_cluster.__main__ import roles


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched like on the real server, and its default roles exist from the start.",
)
def test_recorded_roles_match_the_real_server(control_plane: ControlPlane) -> None:
    recorded = msgspec.json.decode(read_data("roles.json"))
    # Other tests create roles on this server; the server's own ones have a label.
    found = {
        key: role
        for key, role in roles(control_plane).items()
        if role["metadata"].get("labels", {}).get("kubernetes.io/bootstrapping") == "rbac-defaults"
    }
    assert found.keys() == recorded.keys()
    assert found == recorded
