{{- define "vmcp.name" -}}
{{- .Values.nameOverride | default "vmcp-operator" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vmcp.fullname" -}}
{{- .Values.fullnameOverride | default (include "vmcp.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vmcp.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vmcp.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "vmcp.labels" -}}
{{ include "vmcp.selectorLabels" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: vmcp
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "vmcp.serviceAccountName" -}}
{{- if .Values.operator.serviceAccount.create }}
{{- .Values.operator.serviceAccount.name | default (include "vmcp.fullname" .) }}
{{- else }}
{{- required "operator.serviceAccount.name: with create false, name the account that exists" .Values.operator.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The watched namespaces with scope `namespace`, as a JSON list. */}}
{{- define "vmcp.namespaces" -}}
{{- $namespaces := .Values.operator.rbac.allowedNamespaces }}
{{- if not $namespaces }}
{{- fail "operator.rbac.allowedNamespaces: scope namespace needs the namespaces to watch: list them" }}
{{- end }}
{{- if has "all" $namespaces }}
{{- fail "operator.rbac.allowedNamespaces: all needs scope cluster: set operator.rbac.scope=cluster, or list the namespaces" }}
{{- end }}
{{- if has .Release.Namespace $namespaces }}
{{- fail (printf "operator.rbac.allowedNamespaces: %s is the namespace of the operator: users who can create pods in it could use its service account, so list other namespaces" .Release.Namespace) }}
{{- end }}
{{- $namespaces | uniq | sortAlpha | toJson }}
{{- end }}

{{/* 75 % of limits.memory in MiB; empty without a limit in Mi or Gi. */}}
{{- define "vmcp.heapMiB" -}}
{{- $memory := dig "limits" "memory" "" (.Values.operator.resources | default dict) | toString }}
{{- if regexMatch "^[0-9]+Mi$" $memory }}
{{- div (mul (trimSuffix "Mi" $memory | int64) 3) 4 }}
{{- else if regexMatch "^[0-9]+Gi$" $memory }}
{{- mul (trimSuffix "Gi" $memory | int64) 768 }}
{{- end }}
{{- end }}

{{/* Environment variables of the chart, as a JSON object with the list in `env`. */}}
{{- define "vmcp.env" -}}
{{- $fieldRef := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "POD_SERVICE_ACCOUNT" "spec.serviceAccountName" }}
{{- $names := list }}
{{- range .Values.operator.defaultImagePullSecrets }}
{{- $names = append $names (kindIs "map" . | ternary (get (kindIs "map" . | ternary . dict) "name") .) }}
{{- end }}
{{- $values := dict
  "GATEWAY_IMAGE" .Values.operator.gatewayImage
  "IMAGE_PULL_POLICY" .Values.operator.imagePullPolicy
  "LEASE_NAME" (include "vmcp.fullname" .)
  "DEFAULT_IMAGE_PULL_SECRETS" (join "," $names)
  "DEFAULT_TRUSTED_PROXIES" (join "," .Values.operator.defaultTrustedProxies)
  "POD_DISRUPTION_BUDGETS" (toString .Values.operator.podDisruptionBudgets)
  "NETWORK_POLICIES" (toString .Values.operator.networkPolicies) }}
{{- $values = merge $values (include "vmcp.proxy.values" . | fromJson) }}
{{- with .Values.proxy.secret }}
{{- $_ := set $values "GATEWAY_PROXY_SECRET" . }}
{{- end }}
{{- with include "vmcp.proxy.caFile" . }}
{{- $_ := set $values "GATEWAY_CA_FILE" . }}
{{- end }}
{{- $heap := include "vmcp.heapMiB" . }}
{{- if $heap }}
{{- $_ := set $values "NODE_OPTIONS" (printf "--max-old-space-size=%s" $heap) }}
{{- end }}
{{- $env := list }}
{{- range .Values.operator.env }}
{{- if or (hasKey $fieldRef .name) (and (hasKey $values .name) (ne .name "NODE_OPTIONS")) }}
{{- fail (printf "operator.env: %s is set by the chart; use the value of the chart for it" .name) }}
{{- end }}
{{- if eq .name "NODE_OPTIONS" }}
{{- $_ := unset $values "NODE_OPTIONS" }}
{{- end }}
{{- $env = append $env . }}
{{- end }}
{{- range $name, $path := $fieldRef }}
{{- $env = append $env (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) }}
{{- end }}
{{- range $name, $value := $values }}
{{- $env = append $env (dict "name" $name "value" $value) }}
{{- end }}
{{- dict "env" $env | toJson }}
{{- end }}

{{/* Rules of the operator in a namespace. It must hold every right that it grants to gateways in their Roles. */}}
{{- define "vmcp.rules" -}}
- apiGroups: [vmcp.dev]
  resources: {{ include "vmcp.kinds" . }}
  verbs: [get, list, watch]
- apiGroups: [vmcp.dev]
  resources: {{ include "vmcp.kindStatuses" . }}
  verbs: [get, patch, update]
# The finalizer that protects objects while others refer to them.
- apiGroups: [vmcp.dev]
  resources: {{ include "vmcp.protectedKinds" . }}
  verbs: [patch]
# Owner references with blockOwnerDeletion.
- apiGroups: [vmcp.dev]
  resources: {{ include "vmcp.ownerFinalizers" . }}
  verbs: [update]
- apiGroups: ['']
  resources: [configmaps, services, serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
# Only where the cluster has the Gateway API: routes of virtual servers that ask for them.
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
# Keys and versions of referenced Secrets. The operator never uses or stores their values.
- apiGroups: ['']
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: ['']
  resources: [events]
  verbs: [create, patch]
# Pods: reasons why one does not start. Attach: a right that the operator grants to gateways of stdio servers.
- apiGroups: ['']
  resources: [pods]
  verbs: [get, list]
- apiGroups: ['']
  resources: [pods/attach]
  verbs: [get, create]
{{- end }}

{{/* Selects the series of this operator. Other operators use the same metric names. */}}
{{- define "vmcp.series" -}}
{job="{{ include "vmcp.fullname" . }}",namespace="{{ .Release.Namespace }}"}
{{- end }}
