"""The Go code of the migration page compiles with the controller-runtime that it names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kubewright.testing import SetupError
from kubewright.testing.binaries import find_go
from tests.docs.markdown import ROOT, blocks

PAGE: Final = ROOT / "docs" / "migration" / "controller-runtime.md"
MODULE: Final = Path(__file__).parent / "go_patterns"


class Wrapped(NamedTuple):
    """The code around a pattern, which the page leaves out."""

    before: str
    after: str = "}"


_RECONCILE = "(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {"
WRAPPED: Final = [
    Wrapped("func (r *Reconciler) p1(ctx context.Context, shop *Shop) error {", "return err }"),
    Wrapped(f"func (r *Reconciler) p2{_RECONCILE} var shop Shop", "return ctrl.Result{}, nil }"),
    Wrapped(f"func (r *Reconciler) p3{_RECONCILE} var shop Shop", "return ctrl.Result{}, nil }"),
    Wrapped("func (r *Reconciler) p4(ctx context.Context, shop Shop, deployment appsv1.Deployment) error {",
            "return err }"),
    Wrapped("func p5() (ctrl.Result, error) {"),
    Wrapped("func p6(shop Shop) (ctrl.Result, error) {"),
    Wrapped("func (r *Reconciler) p7(ctx context.Context, mgr ctrl.Manager) error {", "return err }"),
    Wrapped("func p8(mgr ctrl.Manager) error { err :=", "return err }"),
    Wrapped("", ""),
    Wrapped("func p10(ctx context.Context, k8sClient client.Client, key client.ObjectKey, shop *Shop) {"
            " var deployment appsv1.Deployment"),
]  # fmt: skip
IMPORTS: Final = """package patterns

import (
    "context"
    "errors"
    "fmt"
    "strings"
    "time"

    . "github.com/onsi/gomega"
    appsv1 "k8s.io/api/apps/v1"
    corev1 "k8s.io/api/core/v1"
    "k8s.io/apimachinery/pkg/api/meta"
    metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
    ctrl "sigs.k8s.io/controller-runtime"
    "sigs.k8s.io/controller-runtime/pkg/builder"
    "sigs.k8s.io/controller-runtime/pkg/client"
    "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
    "sigs.k8s.io/controller-runtime/pkg/handler"
    "sigs.k8s.io/controller-runtime/pkg/predicate"
    "sigs.k8s.io/controller-runtime/pkg/reconcile"
    "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)
"""


def test_page_has_ten_patterns_in_both_languages() -> None:
    assert len(blocks(PAGE, "go")) == len(WRAPPED) == 10
    assert PAGE.read_text(encoding="utf-8").count("\n### ") == 10


@pytest.mark.control_plane
@pytest.mark.timeout(900)
def test_go_patterns_compile(tmp_path: Path) -> None:
    try:
        go = find_go()
    except SetupError as error:
        pytest.skip(f"the patterns cannot be compiled: {error}")
    shutil.copytree(MODULE, tmp_path, dirs_exist_ok=True)
    pairs = zip(WRAPPED, blocks(PAGE, "go"), strict=True)
    code = [f"{wrapped.before}\n{block.code}{wrapped.after}\n" for wrapped, block in pairs]
    (tmp_path / "patterns.go").write_text("\n".join([IMPORTS, *code]), encoding="utf-8")
    done = subprocess.run(
        [go.executable, "build", "-mod=readonly", "-buildvcs=false", "./..."],
        cwd=tmp_path,
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
