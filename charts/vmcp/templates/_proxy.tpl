{{- define "vmcp.proxy.caFolder" -}}/etc/vmcp/proxy-ca{{- end }}

{{/* Path of the CAs; empty without any. */}}
{{- define "vmcp.proxy.caFile" -}}
{{- with .Values.proxy.caConfigMap }}{{ if .name }}{{ include "vmcp.proxy.caFolder" . }}/{{ .key }}{{ end }}{{ end }}
{{- end }}

{{/* Variables of the forward proxy with a fixed value, as a JSON object. URLs of a Secret are not among them. */}}
{{- define "vmcp.proxy.values" -}}
{{- $proxy := .Values.proxy }}
{{- if and $proxy.secret (or $proxy.httpsProxy $proxy.httpProxy) }}
{{- fail "proxy.secret: the Secret has the URLs of the proxy: leave proxy.httpsProxy and proxy.httpProxy empty" }}
{{- end }}
{{- $values := dict }}
{{- with $proxy.httpsProxy }}{{- $_ := set $values "HTTPS_PROXY" . }}{{- end }}
{{- with $proxy.httpProxy }}{{- $_ := set $values "HTTP_PROXY" . }}{{- end }}
{{- with $proxy.noProxy }}{{- $_ := set $values "NO_PROXY" (join "," .) }}{{- end }}
{{- $values | toJson }}
{{- end }}

{{/* Environment variables of the management API, as a JSON object with the list in `env`. */}}
{{- define "vmcp.proxy.managementEnv" -}}
{{- $values := include "vmcp.proxy.values" . | fromJson }}
{{- with include "vmcp.proxy.caFile" . }}{{- $_ := set $values "NODE_EXTRA_CA_CERTS" . }}{{- end }}
{{- $env := list }}
{{- range .Values.management.env }}
{{- if hasKey $values .name }}
{{- fail (printf "management.env: %s is set by proxy: set it in one place" .name) }}
{{- end }}
{{- $env = append $env . }}
{{- end }}
{{- range $name, $value := $values }}
{{- $env = append $env (dict "name" $name "value" $value) }}
{{- end }}
{{- with .Values.proxy.secret }}
{{- $env = append $env (dict "name" "HTTPS_PROXY" "valueFrom" (dict "secretKeyRef" (dict "name" . "key" "HTTPS_PROXY"))) }}
{{- $env = append $env (dict "name" "HTTP_PROXY" "valueFrom" (dict "secretKeyRef" (dict "name" . "key" "HTTP_PROXY" "optional" true))) }}
{{- end }}
{{- dict "env" $env | toJson }}
{{- end }}

{{- define "vmcp.proxy.volumeMounts" -}}
{{- if .Values.proxy.caConfigMap.name }}
- name: proxy-ca
  mountPath: {{ include "vmcp.proxy.caFolder" . }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "vmcp.proxy.volumes" -}}
{{- with .Values.proxy.caConfigMap }}
{{- if .name }}
- name: proxy-ca
  configMap:
    name: {{ .name | quote }}
    items: [{ key: {{ .key | quote }}, path: {{ .key | quote }} }]
{{- end }}
{{- end }}
{{- end }}
