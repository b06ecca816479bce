{{/* What is different between our operators' charts; all else is made from charts/common. */}}
{{- define "operator.application" -}}kafka{{- end -}}
{{- define "operator.group" -}}kafka.ballast.dev{{- end -}}
{{- define "operator.plural" -}}kafkaclusters{{- end -}}

{{/* Subresources that people may read. */}}
{{- define "operator.readable" -}}[kafkaclusters, kafkaclusters/status, kafkarebalances, kafkarebalances/status]{{- end -}}

{{/* Resources that people may write. */}}
{{- define "operator.writable" -}}[kafkaclusters, kafkarebalances]{{- end -}}

{{/* Whether there is a scale subresource. */}}
{{- define "operator.scalable" -}}{{- end -}}

{{/* Ports at which the members are asked how they are. */}}
{{- define "operator.memberPorts" -}}[9092, 9093]{{- end -}}

{{/* What the operator does in a namespace that it watches: exactly the verbs that it uses. */}}
{{- define "operator.namespacedRules" -}}
- apiGroups: [{{ include "operator.group" . }}]
  resources: [kafkaclusters]
  verbs: [get, list, watch]
- apiGroups: [{{ include "operator.group" . }}]
  resources: [kafkarebalances]
  verbs: [list, watch]
- apiGroups: [{{ include "operator.group" . }}]
  resources: [kafkaclusters/status, kafkarebalances/status]
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
# None is made yet; the runtime watches them.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, watch]
# The Secret that tells applications how to connect; no list, no watch.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
