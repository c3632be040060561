{{- define "vmcp.management.name" -}}
{{- if .Values.fullnameOverride }}
{{- printf "%s-management" (.Values.fullnameOverride | trunc 52 | trimSuffix "-") }}
{{- else -}}
vmcp-management
{{- end }}
{{- end }}

{{- define "vmcp.management.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vmcp.management.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "vmcp.management.labels" -}}
{{ include "vmcp.management.selectorLabels" . }}
app.kubernetes.io/component: management
app.kubernetes.io/part-of: vmcp
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "vmcp.management.serviceAccountName" -}}
{{- if .Values.management.serviceAccount.create }}
{{- .Values.management.serviceAccount.name | default (include "vmcp.management.name" .) }}
{{- else }}
{{- required "management.serviceAccount.name: with create false, name the account that exists" .Values.management.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The served namespaces in their order, as a JSON list. New workloads live in the first one. */}}
{{- define "vmcp.management.namespaces" -}}
{{- $namespaces := .Values.management.namespaces }}
{{- if not $namespaces }}
{{- fail "management.namespaces: list the namespaces whose servers the management API manages" }}
{{- end }}
{{- if has .Release.Namespace $namespaces }}
{{- fail (printf "management.namespaces: %s is the namespace of the operator: users of the API could use its service account, so list other namespaces" .Release.Namespace) }}
{{- end }}
{{- if eq .Values.operator.rbac.scope "namespace" }}
{{- range $namespaces }}
{{- if not (has . $.Values.operator.rbac.allowedNamespaces) }}
{{- fail (printf "management.namespaces: the operator does not watch %s: add it to operator.rbac.allowedNamespaces" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- $namespaces | uniq | toJson }}
{{- end }}

{{/* The file of `vmcp serve --config`. */}}
{{- define "vmcp.management.config" -}}
{{- if not .Values.management.auth }}
{{- fail "management.auth: configure who may use the API: an issuer and audience, or type kubernetes with a serviceAccount" }}
{{- end }}
{{- $config := dict "auth" .Values.management.auth "workloads" "kubernetes" "namespaces" (include "vmcp.management.namespaces" . | fromJsonArray) }}
{{- with .Values.management.audit }}
{{- $_ := set $config "audit" . }}
{{- end }}
{{- $config | toPrettyJson }}
{{- end }}

{{/* The pod's security context. OpenShift accepts only groups of the namespace, and sets fsGroup itself. */}}
{{- define "vmcp.management.podSecurityContext" -}}
{{- $context := .Values.management.podSecurityContext | default dict }}
{{- if and (.Capabilities.APIVersions.Has "security.openshift.io/v1") (eq (toString $context.fsGroup) "65532") }}
{{- $context = omit $context "fsGroup" }}
{{- end }}
{{- toYaml $context }}
{{- end }}
