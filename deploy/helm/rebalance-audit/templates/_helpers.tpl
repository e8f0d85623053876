{{/* The labels that select the pods of a component. Called with a dict of root and component. */}}
{{- define "rebalance-audit.selector" -}}
app.kubernetes.io/name: rebalance-audit
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "rebalance-audit.labels" -}}
{{ include "rebalance-audit.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "rebalance-audit.serviceAccount" -}}
{{ .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{- define "rebalance-audit.claim" -}}
{{ .Values.volume.claim | default .Release.Name }}
{{- end }}

{{/* Not empty if the warehouse is on the volume, which all pods share then. */}}
{{- define "rebalance-audit.sharesVolume" -}}
{{ if not (contains "://" .Values.warehouse.uri) }}yes{{ end }}
{{- end }}

{{/* What all pods have in common. Two pods that share a ReadWriteOnce volume follow each other to one node. */}}
{{- define "rebalance-audit.pod" -}}
serviceAccountName: {{ include "rebalance-audit.serviceAccount" .root }}
automountServiceAccountToken: false
# Otherwise the pod has REBALANCE_AUDIT_... variables of services, which commands read as options.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch # a warehouse has many files
  seccompProfile:
    type: RuntimeDefault
{{- if and (include "rebalance-audit.sharesVolume" .root) (eq .root.Values.volume.accessMode "ReadWriteOnce") }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: rebalance-audit
            app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}
{{- end }}

{{- define "rebalance-audit.image" -}}
{{ required "set image.repository to the image in your registry" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What all containers have in common. */}}
{{- define "rebalance-audit.container" -}}
image: {{ include "rebalance-audit.image" . }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Options by their environment variables, if they have a value, and the values' own variables. Called with a dict of
root and options; the caller may add to the list. */}}
{{- define "rebalance-audit.env" -}}
{{- with .root.Values.warehouse.secret -}}
envFrom:
  - secretRef: {name: {{ . }}}
{{ end -}}
env:
{{- range $name, $value := set .options "WAREHOUSE" .root.Values.warehouse.uri }}
  {{- if $value }}
  - {name: REBALANCE_AUDIT_{{ $name }}, value: {{ $value | toString | quote }}}
  {{- end }}
{{- end }}
{{- range $name, $value := .root.Values.env }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
