{{- define "gvList" -}}
# API reference

The fields of `hypershift.openshift.io/v1beta1`, made from the comments of the types by `hack/generate.sh`: do not edit this page. In a cluster,
`kubectl explain hostedcluster.spec` prints the same. [Conditions](conditions.md) has the conditions and their reasons.

| Kind | Written by |
|---|---|
| [HostedCluster](#hostedcluster) | users: a hosted cluster |
| [NodePool](#nodepool) | users: workers of a hosted cluster |
| [HostedControlPlane](#hostedcontrolplane) | hypershift-operator: what the control-plane-operator reconciles |
| [AWSEndpointService](#awsendpointservice) | both operators: one PrivateLink connection |
| [ControlPlaneComponent](#controlplanecomponent) | control-plane-operator: the state of one component |
| [NodeBootstrap](#nodebootstrap), [NodeBootstrapTemplate](#nodebootstraptemplate) | hypershift-operator, Cluster API: the user data of machines |

The kinds come first, then the other types by name. A default is applied when the field is missing. Rules that compare several fields are in the CRDs, as expressions of CEL, and in the message of the
API server that rejects the object.
{{ range . }}
{{- range .SortedTypes }}{{ if .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- range .SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end }}
{{- end -}}
