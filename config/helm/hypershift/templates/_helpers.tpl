{{/* Labels of everything. */}}
{{- define "hypershift.labels" -}}
app.kubernetes.io/name: hypershift
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: hypershift
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The image of the operators. */}}
{{- define "hypershift.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* A pod that does nothing special: a namespace that enforces the restricted Pod Security Standard lets it in. */}}
{{- define "hypershift.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- define "hypershift.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* key=value,key=value of a map, without what is null. */}}
{{- define "hypershift.pairs" -}}
{{- $pairs := list }}
{{- range $key, $value := . }}{{ if not (kindIs "invalid" $value) }}{{ $pairs = append $pairs (printf "%s=%v" $key $value) }}{{ end }}{{ end }}
{{- join "," $pairs }}
{{- end }}

{{/* Who a program is in AWS: environment, mounts and volumes, from a dict of region, roleARN, tokenAudience and credentialsSecret.
     A role is assumed with a token of our own projection: it needs no webhook, so that it works on clusters that are not EKS. */}}
{{- define "hypershift.awsEnv" -}}
{{- with .region }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- if .roleARN }}
- name: AWS_ROLE_ARN
  value: {{ .roleARN | quote }}
- name: AWS_WEB_IDENTITY_TOKEN_FILE
  value: /var/run/secrets/aws/token
{{- else if .credentialsSecret.name }}
- name: AWS_SHARED_CREDENTIALS_FILE
  value: /etc/aws/{{ .credentialsSecret.key }}
{{- end }}
{{- end }}
{{- define "hypershift.awsMounts" -}}
{{- if .roleARN }}
- name: aws-token
  mountPath: /var/run/secrets/aws
  readOnly: true
{{- else if .credentialsSecret.name }}
- name: aws-credentials
  mountPath: /etc/aws
  readOnly: true
{{- end }}
{{- end }}
{{- define "hypershift.awsVolumes" -}}
{{- if .roleARN }}
- name: aws-token
  projected:
    sources:
    - serviceAccountToken:
        audience: {{ .tokenAudience | quote }}
        expirationSeconds: 3600
        path: token
{{- else if .credentialsSecret.name }}
- name: aws-credentials
  secret:
    secretName: {{ .credentialsSecret.name | quote }}
{{- end }}
{{- end }}

{{/* A copy of what config/ has, with our labels, in our namespace. */}}
{{- define "hypershift.copy" -}}
{{- $copy := .root.Files.Get .file | fromYaml }}
{{- $_ := set $copy.metadata "labels" (include "hypershift.labels" .root | fromYaml) }}
{{- if $copy.metadata.namespace }}{{ $_ := set $copy.metadata "namespace" .root.Release.Namespace }}{{ end }}
{{- with .annotations }}{{ $_ := set $copy.metadata "annotations" . }}{{ end }}
{{- range $copy.subjects }}{{ $_ := set . "namespace" $.root.Release.Namespace }}{{ end }}
{{- toYaml $copy }}
{{- end }}

{{/* What no schema can say in words. */}}
{{- define "hypershift.check" -}}
{{- with .Values }}
{{- if and .aws.privateLink (not .aws.region) }}{{ fail "aws.privateLink needs aws.region: the region of the management cluster and its load balancers" }}{{ end }}
{{- if and .aws.roleARN .aws.credentialsSecret.name }}{{ fail "aws.roleARN and aws.credentialsSecret are both set: use one of them" }}{{ end }}
{{- if ne (empty .oidc.bucket) (empty .oidc.region) }}{{ fail "oidc.bucket and oidc.region are needed together" }}{{ end }}
{{- if and .oidc.credentialsSecret.name (not .oidc.bucket) }}{{ fail "oidc.credentialsSecret is for a bucket: set oidc.bucket and oidc.region" }}{{ end }}
{{- if and (gt (int .replicas) 1) (not .leaderElection) }}{{ fail "replicas is more than 1 without leaderElection: they would work against each other" }}{{ end }}
{{- if .externalDNS.enabled }}
{{- if not .externalDNS.domainFilters }}{{ fail "externalDNS.domainFilters is empty: name the zones that external-dns may write to" }}{{ end }}
{{- if not .externalDNS.txtOwnerID }}{{ fail "externalDNS.txtOwnerID is empty: choose a name for this installation and keep it" }}{{ end }}
{{- if and .externalDNS.aws.roleARN .externalDNS.aws.credentialsSecret.name }}{{ fail "externalDNS.aws.roleARN and externalDNS.aws.credentialsSecret are both set: use one of them" }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
