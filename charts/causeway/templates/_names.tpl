{{- /* Names, labels and what every pod and container has. */ -}}

{{- define "causeway.name" -}}
{{- if contains "causeway" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-causeway" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* The name of a cluster's view; names of clusters may have capitals and _. */ -}}
{{- define "causeway.view" -}}
{{ include "causeway.name" .root }}-view-{{ .cluster | lower | replace "_" "-" | trunc 20 }}
{{- end }}

{{- define "causeway.selector" -}}
app.kubernetes.io/name: causeway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "causeway.labels" -}}
{{ include "causeway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "causeway.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* `part` is proxy, views, lifecycle or console; `own` its values. */ -}}
{{- define "causeway.podMetadata" -}}
labels:
  {{- include "causeway.labels" . | nindent 2 }}
  {{- with .cluster }}
  causeway/cluster: {{ . | lower | replace "_" "-" }}
  {{- end }}
annotations:
  causeway/settings: {{ include "causeway.toml" . | sha256sum }}
  {{- with .own.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "causeway.pod" -}}
serviceAccountName: {{ .root.Values.serviceAccount.name }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001 # so that the group may read files of Secrets, which belong to root
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with index $.own $name }}
{{ $name }}: {{ toJson . }}
{{- end }}
{{- end }}
volumes:
  - name: settings
    configMap:
      name: {{ include "causeway.name" .root }}-settings
      items: [{key: {{ .part }}.toml, path: causeway.toml}]
  - name: tmp
    emptyDir: {}
  - name: home
    emptyDir: {}
  {{- range .root.Values.secrets }}
  {{- if or (not .parts) (has $.part .parts) }}
  - name: secret-{{ .name }}
    secret: {secretName: {{ .name }}, defaultMode: 0440}
  {{- end }}
  {{- end }}
  {{- range .root.Values.configMaps }}
  {{- if or (not .parts) (has $.part .parts) }}
  - name: files-{{ .name }}
    configMap: {name: {{ .name }}}
  {{- end }}
  {{- end }}
  {{- with .root.Values.postgresql.serviceSecret }}
  - name: postgresql
    secret: {secretName: {{ . }}, defaultMode: 0440, items: [{key: pg_service.conf, path: pg_service.conf}]}
  {{- end }}
{{- end }}

{{- define "causeway.container" -}}
image: {{ include "causeway.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{ toJson .own.resources }}
{{- end }}

{{- define "causeway.env" -}}
{{- if .root.Values.postgresql.serviceSecret }}
- {name: PGSERVICEFILE, value: /etc/causeway/postgresql/pg_service.conf}
{{- end }}
{{- with .root.Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "causeway.mounts" -}}
- {name: settings, mountPath: /etc/causeway/settings, readOnly: true}
- {name: tmp, mountPath: /tmp}
- {name: home, mountPath: /home/causeway}
{{- range .root.Values.secrets }}
{{- if or (not .parts) (has $.part .parts) }}
- {name: secret-{{ .name }}, mountPath: /etc/causeway/secrets/{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- range .root.Values.configMaps }}
{{- if or (not .parts) (has $.part .parts) }}
- {name: files-{{ .name }}, mountPath: /etc/causeway/files/{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- if .root.Values.postgresql.serviceSecret }}
- {name: postgresql, mountPath: /etc/causeway/postgresql, readOnly: true}
{{- end }}
{{- end }}
