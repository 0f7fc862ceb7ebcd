from __future__ import annotations

import gc

import pytest

from kubewright.api import collection_paused


@pytest.mark.promise("What the cache keeps", "While a long list is built, the garbage collector rests.")
def test_collector_pauses_and_resumes_after_error() -> None:
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="boom"), collection_paused():
        raise ValueError("boom")
    assert gc.isenabled()


def test_disabled_collector_stays_disabled() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
