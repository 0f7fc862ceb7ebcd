"""The two files of a chart that are not objects: `_helpers.tpl` and `NOTES.txt`."""

from __future__ import annotations

from kubewright.manifests._project import LONGEST_NAME, Project

__all__ = ["helpers", "notes"]

_HELPERS = """\
{{- /* The prefix of all names: the release, then the chart unless the release is named after it. */ -}}
{{- define "NAME.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc LONGEST | trimSuffix "-" -}}
{{- end }}

{{- /* repository:tag@digest. Default tag, without a digest: the version of the program. */ -}}
{{- define "NAME.image" -}}
{{- $tag := .Values.image.tag -}}
{{- if not (or $tag .Values.image.digest) -}}
{{- $tag = .Chart.AppVersion -}}
{{- end -}}
{{- .Values.image.repository -}}
{{- with $tag }}:{{ . }}{{ end -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end }}
"""

_METRICS_HELPERS = """
{{- /* The Secret with the certificate for metrics, unless it is self-signed. */ -}}
{{- define "NAME.metricsSecret" -}}
{{- .Values.metrics.secretName | default (printf "%s-metrics-certificate" (include "NAME.fullname" .)) -}}
{{- end }}
"""

_WEBHOOK_HELPERS = """
{{- /* The Secret with the certificate for webhooks. */ -}}
{{- define "NAME.webhookSecret" -}}
{{- .Values.webhook.secretName | default (printf "%s-webhook-certificate" (include "NAME.fullname" .)) -}}
{{- end }}
"""

_NOTES = """\
{{ .Chart.Name }} {{ .Chart.AppVersion }} runs as {{ include "NAME.fullname" . }} in {{ .Release.Namespace }}:

  kubectl --namespace {{ .Release.Namespace }} rollout status deployment/{{ include "NAME.fullname" . }}
  kubectl --namespace {{ .Release.Namespace }} logs deployment/{{ include "NAME.fullname" . }}
{{- if not .Values.crds.install }}

Its definitions are not part of this release: it waits until you install them.
{{- else if .Values.crds.keep }}

Its definitions stay when it is uninstalled, and with them all objects of its kinds.
{{- else }}

Its definitions are deleted when it is uninstalled, and with them ALL OBJECTS of its kinds.
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.metrics.enabled }}

Only namespaces with this label may read its metrics:

  kubectl label namespace MONITORING metrics=enabled
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}

Only accounts with this role may read its metrics:

  kubectl create clusterrolebinding {{ include "NAME.fullname" . }}-metrics-reader \\
    --clusterrole {{ include "NAME.fullname" . }}-metrics-reader --serviceaccount MONITORING:PROMETHEUS
{{- end }}
"""


def helpers(project: Project) -> str:
    """Returns the functions that the templates include."""
    return _named(_HELPERS + _METRICS_HELPERS + (_WEBHOOK_HELPERS if project.serves_webhooks else ""), project)


def notes(project: Project) -> str:
    """Returns the message at the end of `helm install`."""
    return _named(_NOTES, project)


def _named(text: str, project: Project) -> str:
    return text.replace("NAME", project.name).replace("LONGEST", str(LONGEST_NAME))
