{{/* The name of all objects. */}}
{{- define "metacontroller.fullname" -}}
{{- .Values.fullnameOverride | default .Values.nameOverride | default "metacontroller-apiserver" -}}
{{- end }}

{{- define "metacontroller.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end }}

{{- define "metacontroller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "metacontroller.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.create is false: set serviceAccount.name to the account that the server is to have" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "metacontroller.selectorLabels" -}}
app.kubernetes.io/name: {{ include "metacontroller.fullname" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "metacontroller.labels" -}}
{{ include "metacontroller.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The subject of all bindings. */}}
{{- define "metacontroller.subject" -}}
- kind: ServiceAccount
  name: {{ include "metacontroller.serviceAccountName" . }}
  namespace: {{ include "metacontroller.namespace" . }}
{{- end }}

{{- define "metacontroller.replicas" -}}
{{- if .Values.etcd.servers -}}
{{- .Values.replicas | default 2 -}}
{{- else if gt (.Values.replicas | default 1 | int) 1 -}}
{{- fail (printf "replicas: %v: one process may use the etcd inside it; set etcd.servers to the etcd that replicas are to share" .Values.replicas) -}}
{{- else -}}
1
{{- end -}}
{{- end }}
