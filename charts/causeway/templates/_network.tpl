{{- /* The head of a NetworkPolicy, and who may connect. */ -}}

{{- define "causeway.peer" -}}
podSelector: {matchLabels: {app.kubernetes.io/name: causeway, app.kubernetes.io/instance: {{ .root.Release.Name }}, app.kubernetes.io/component: {{ .part }}}}
{{- end }}

{{- define "causeway.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "causeway.name" .root }}-{{ .part }}
  labels:
    {{- include "causeway.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "causeway.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
{{- end }}

{{- define "causeway.from" -}}
{{- with . }}
      from: {{ toJson . }}
{{- end }}
{{- end }}
