{{- /* The settings of a part, and the TOML file that it reads. */ -}}

{{- /* The settings as YAML: what the chart knows, below what the values say. */ -}}
{{- define "causeway.settings" -}}
{{- $values := .root.Values -}}
{{- $name := include "causeway.name" .root -}}
{{- $own := dict
  "hive.server2.thrift.bind.host" $values.listenHost
  "hive.server2.thrift.port" 10000
  "hive.server2.thrift.http.port" 10001
  "proxy.admin.host" $values.listenHost
  "proxy.admin.port" 10009
  "proxy.workers" 2 -}}
{{- if eq .part "proxy" -}}
{{- $_ := set $own "proxy.admin.socket" "/run/causeway/admin.sock" -}}
{{- $_ := set $own "proxy.writes.folder" "/var/lib/causeway/writes" -}}
{{- end -}}
{{- if $values.lifecycle.enabled -}}
{{- $_ := set $own "lifecycle.host" (ternary $values.listenHost (printf "%s-lifecycle" $name) (eq .part "lifecycle")) -}}
{{- $_ := set $own "lifecycle.port" 10010 -}}
{{- end -}}
{{- if $values.console.enabled -}}
{{- $_ := set $own "console.host" $values.listenHost -}}
{{- $_ := set $own "console.port" 10002 -}}
{{- $_ := set $own "console.sql" (printf "%s-proxy:10000" $name) -}}
{{- $proxies := list -}}
{{- range until (int (ternary $values.proxy.autoscaling.maxReplicas $values.proxy.replicas $values.proxy.autoscaling.enabled)) -}}
{{- $proxies = append $proxies (printf "%s-proxy-%d.%s-proxy-pods:10009" $name . $name) -}}
{{- end -}}
{{- $_ := set $own "console.proxies" $proxies -}}
{{- end -}}
{{- $settings := merge (deepCopy $values.settings) $own -}}
{{- if $values.views.enabled -}}
{{- range $cluster, $keys := index $settings "hive.cluster.properties" -}}
{{- if not (hasKey $keys "MetastoreView") -}}
{{- $_ := set $keys "MetastoreView" (printf "%s:9083" (include "causeway.view" (dict "root" $.root "cluster" $cluster))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ toYaml $settings }}
{{- end }}

{{- /* One setting of a part, as text. */ -}}
{{- define "causeway.setting" -}}
{{ index (include "causeway.settings" . | fromYaml) .setting | default .default }}
{{- end }}

{{- /* A port of a part, as a number. */ -}}
{{- define "causeway.port" -}}
{{ include "causeway.setting" . | int }}
{{- end }}

{{- define "causeway.toml" -}}
{{- $settings := include "causeway.settings" . | fromYaml -}}
{{- range $name, $value := $settings }}
{{- if not (kindIs "map" $value) }}
{{ $name | quote }} = {{ toRawJson $value }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if kindIs "map" $value }}

[{{ $name | quote }}]
{{- range $key, $each := $value }}
{{- if not (kindIs "map" $each) }}
{{ $key | quote }} = {{ toRawJson $each }}
{{- end }}
{{- end }}
{{- range $key, $each := $value }}
{{- if kindIs "map" $each }}

[{{ $name | quote }}.{{ $key | quote }}]
{{- range $inner, $text := $each }}
{{ $inner | quote }} = {{ toRawJson $text }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Whole seconds of a time such as 30, 30s, 500ms, 5m or 1h, rounded up. */ -}}
{{- define "causeway.seconds" -}}
{{- $number := regexFind "^[0-9.]+" . | float64 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $factor := get (dict "" 1.0 "s" 1.0 "ms" 0.001 "m" 60.0 "h" 3600.0) $unit -}}
{{ mulf $number $factor | ceil | int }}
{{- end }}

{{- define "causeway.refuse" -}}
{{- $settings := .Values.settings -}}
{{- if not (index $settings "proxy.admin.token.file") }}
{{- fail "settings: proxy.admin.token.file is missing, a file of a Secret; without it no proxy starts" }}
{{- end }}
{{- if and .Values.lifecycle.enabled (not (index $settings "lifecycle.token.file")) }}
{{- fail "settings: lifecycle.token.file is missing, a file of a Secret; without it no lifecycle server starts" }}
{{- end }}
{{- if index $settings "hive.server2.support.dynamic.service.discovery" }}
{{- fail "settings: hive.server2.support.dynamic.service.discovery would register addresses of pods; clients use the Service" }}
{{- end }}
{{- with index $settings "history.store" }}
{{- if or (regexMatch "://[^/@]*:[^/@]*@" .) (regexMatch "[?&]password=" .) }}
{{- fail "settings: history.store has a password; put it into postgresql.serviceSecret" }}
{{- end }}
{{- if not (hasPrefix "postgres" .) }}
{{- fail "settings: history.store has to be postgresql://..: a SQLite file is one pod's alone" }}
{{- end }}
{{- end }}
{{- if and .Values.lifecycle.enabled (not .Values.lifecycle.store.secret) }}
{{- fail "lifecycle.store.secret is missing: the Secret with the URL of the store" }}
{{- end }}
{{- end }}
