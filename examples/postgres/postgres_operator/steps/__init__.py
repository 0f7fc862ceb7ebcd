"""The steps of a reconcile. Each can be interrupted anywhere and repeated: it reads first, and writes what differs."""

from postgres_operator.steps.clones import CloneImpossible, check_clone
from postgres_operator.steps.database import Synchronized, credentials_of, fingerprint_of, synchronize_database
from postgres_operator.steps.deletion import missing_annotations, remove_cluster
from postgres_operator.steps.parameters import CHECK_SECONDS, apply_parameters
from postgres_operator.steps.pods import is_ready, pods_of, primary_of, replace_outdated, switch_before_shrinking
from postgres_operator.steps.secrets import ForeignSecret, ensure_secrets, prune_secrets
from postgres_operator.steps.volumes import data_version, grow_volumes, refusals_of, template_of

__all__ = [
    "CHECK_SECONDS",
    "CloneImpossible",
    "ForeignSecret",
    "Synchronized",
    "apply_parameters",
    "check_clone",
    "credentials_of",
    "data_version",
    "ensure_secrets",
    "fingerprint_of",
    "grow_volumes",
    "is_ready",
    "missing_annotations",
    "pods_of",
    "primary_of",
    "prune_secrets",
    "refusals_of",
    "remove_cluster",
    "replace_outdated",
    "switch_before_shrinking",
    "synchronize_database",
    "template_of",
]
