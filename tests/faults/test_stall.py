"""A kube-apiserver that is paused for a minute: connections stay open, and nothing comes.

The minute began with the first test of this folder; see `minute` in its conftest.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.control_plane


@pytest.mark.promise(
    "What happens when",
    "A server that is silent for a minute is noticed, and all goes on afterwards.",
)
def test_a_server_that_is_silent_for_a_minute_is_noticed_and_all_goes_on_afterwards(
    minute: subprocess.Popen[str],
) -> None:
    out, err = minute.communicate(timeout=PATIENCE)
    assert minute.returncode == 0, err
    saw = json.loads(out)
    assert saw.pop("paused for") >= 60
    assert saw == {
        "stalled": "Stalled: nothing was received for 20s",
        "state while stalled": "waiting",
        "read while stalled": ["before", "changing"],
        "written in the end": {"size": "0", "word": "during the pause"},
        "stalls of the patient": 0,
        "error in the end": "",
        "twice at once": [],
    }
