{{/* Labels of everything. */}}
{{- define "hypershift.labels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: hypershift
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- include "hypershift.commonLabels" . }}
{{- end }}

{{/* The labels of the user, without those that the chart itself sets: selectors use them. */}}
{{- define "hypershift.commonLabels" -}}
{{- range $key, $value := omit .Values.commonLabels "app" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/part-of" "helm.sh/chart" }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* The name of the operator's service account. */}}
{{- define "hypershift.serviceAccount" -}}
{{ .Values.serviceAccount.name | default "hypershift-operator" }}
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
{{- if eq $copy.kind "ServiceAccount" }}{{ $_ := set $copy.metadata "name" (include "hypershift.serviceAccount" .root) }}{{ end }}
{{- range $copy.subjects }}{{ $_ := set . "namespace" $.root.Release.Namespace }}{{ $_ := set . "name" (include "hypershift.serviceAccount" $.root) }}{{ end }}
{{- toYaml $copy }}
{{- end }}

{{/* Errors for which a schema has no words. */}}
{{- define "hypershift.check" -}}
{{- with .Values }}
{{- range $check := list
  (list "periods.resync" .periods.resync "duration") (list "periods.oidcCheck" .periods.oidcCheck "duration") (list "monitoring.interval" .monitoring.interval "duration")
  (list "periods.awsPermissionsCheck" (.periods.awsPermissionsCheck | default "1h") "duration")
  (list "aws.region" (.aws.region | default "us-east-1") "region") (list "oidc.region" (.oidc.region | default "us-east-1") "region")
  (list "aws.roleARN" (.aws.roleARN | default "arn:aws:iam::111111111111:role/a") "role") (list "externalDNS.aws.roleARN" (.externalDNS.aws.roleARN | default "arn:aws:iam::111111111111:role/a") "role")
  (list "image.digest" (.image.digest | default (printf "sha256:%064d" 0)) "digest") (list "oidc.bucket" (.oidc.bucket | default "bucket") "bucket")
}}
{{- $name := index $check 0 }}{{ $value := index $check 1 }}{{ $type := index $check 2 }}
{{- if and (eq $type "duration") (not (regexMatch "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" $value)) }}{{ fail (printf "%s: %q is not a duration with a unit, such as 30m or 1h30m" $name $value) }}{{ end }}
{{- if and (eq $type "duration") (not (regexMatch "[1-9]" $value)) }}{{ fail (printf "%s: %q must be more than 0" $name $value) }}{{ end }}
{{- if and (eq $type "region") (not (regexMatch "^[a-z]{2}(-[a-z]+)+-[0-9]+$" $value)) }}{{ fail (printf "%s: %q is not a region of AWS, such as us-east-1" $name $value) }}{{ end }}
{{- if and (eq $type "role") (not (regexMatch "^arn:[a-z-]+:iam::[0-9]{12}:role/.+$" $value)) }}{{ fail (printf "%s: %q is not the ARN of a role, such as arn:aws:iam::111111111111:role/hypershift-operator" $name $value) }}{{ end }}
{{- if and (eq $type "digest") (not (regexMatch "^sha256:[0-9a-f]{64}$" $value)) }}{{ fail (printf "%s: %q is not a digest: sha256: and 64 hexadecimal digits" $name $value) }}{{ end }}
{{- if and (eq $type "bucket") (contains "." $value) }}{{ fail (printf "%s: %q contains a dot: the certificate of S3 does not cover the host name of such a bucket, so that IAM refuses it as issuer" $name $value) }}{{ end }}
{{- if and (eq $type "bucket") (not (regexMatch "^[a-z0-9-]{3,63}$" $value)) }}{{ fail (printf "%s: %q is not the name of an S3 bucket: 3 to 63 lower-case letters, digits and hyphens" $name $value) }}{{ end }}
{{- end }}
{{- if and .aws.privateLink (not .aws.region) }}{{ fail "aws.privateLink needs aws.region: the region of the management cluster and its load balancers" }}{{ end }}
{{- if and .sharedRouter.enabled (not .aws.privateLink) }}{{ fail "sharedRouter.enabled needs aws.privateLink: the shared router serves clusters with PrivateLink" }}{{ end }}
{{- if and .aws.roleARN .aws.credentialsSecret.name }}{{ fail "aws.roleARN and aws.credentialsSecret are both set: use one of them" }}{{ end }}
{{- if and .aws.podIdentity (or .aws.roleARN .aws.credentialsSecret.name) }}{{ fail "aws.podIdentity is set together with aws.roleARN or aws.credentialsSecret: use one of them" }}{{ end }}
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
