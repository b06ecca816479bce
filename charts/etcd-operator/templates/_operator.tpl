{{/* What is different between our operators' charts; all else is made from charts/common. */}}
{{- define "operator.application" -}}etcd{{- end -}}
{{- define "operator.group" -}}etcd.ballast.dev{{- end -}}
{{- define "operator.plural" -}}etcdclusters{{- end -}}

{{/* Subresources that people may read. */}}
{{- define "operator.readable" -}}[etcdclusters, etcdclusters/status, etcdclusters/scale]{{- end -}}

{{/* Resources that people may write. */}}
{{- define "operator.writable" -}}[etcdclusters]{{- end -}}

{{/* Whether there is a scale subresource. */}}
{{- define "operator.scalable" -}}true{{- end -}}

{{/* Ports at which the members are asked how they are. */}}
{{- define "operator.memberPorts" -}}[2379]{{- end -}}

{{/* What the operator does in a namespace that it watches: exactly the verbs that it uses. */}}
{{- define "operator.namespacedRules" -}}
- apiGroups: [{{ include "operator.group" . }}]
  resources: [{{ include "operator.plural" . }}]
  verbs: [get, list, watch]
- apiGroups: [{{ include "operator.group" . }}]
  resources: [{{ include "operator.plural" . }}/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
# The Secret that tells applications how to connect; no list, no watch.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
