{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}

## {{ $type.Name }}
{{ if $type.IsAlias }}
Type: {{ markdownRenderTypeLink $type.UnderlyingType }}
{{ end }}
{{- if $type.Doc }}
{{ $type.Doc }}
{{ end }}
{{- if $type.References }}
Used by: {{ range $i, $reference := $type.SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $reference }}{{ end }}
{{ end }}
{{- if $type.Members }}
| Field | Type | Description | Default | Limits |
|---|---|---|---|---|
{{- range $type.Members }}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ if eq .Name "metadata" }}the metadata of Kubernetes{{ else }}{{ template "text" .Doc }}{{ end }} | {{ with markdownRenderDefault .Default }}`{{ . }}`{{ end }} | {{ range $i, $limit := without .Validation "Optional: {}" }}{{ if $i }}<br />{{ end }}{{ $limit | replace ": {}" "" | markdownRenderFieldDoc }}{{ end }} |
{{- end }}
{{ end }}
{{- if $type.EnumValues }}
| Value | Meaning |
|---|---|
{{- range $type.EnumValues }}
| `{{ .Name }}` | {{ template "text" .Doc }} |
{{- end }}
{{ end }}
{{- end }}
{{- end -}}

{{- define "text" -}}
{{ . | replace "\n\n" "<br />" | replace "\n- " "<br />- " | replace "\n" " " | markdownRenderFieldDoc }}
{{- end -}}
