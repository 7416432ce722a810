package installation

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func all() Options {
	return Options{
		Image: "registry.example.com:5000/hypershift:1@sha256:" + strings.Repeat("a", 64), Replicas: 1,
		OIDCBucket: "docs", OIDCRegion: "us-east-1", OIDCSecret: "oidc-creds",
		PrivateLink: true, AWSRegion: "us-east-1", AWSRole: "arn:aws:iam::111111111111:role/operator",
		ExternalDNS: true, ExternalDNSDomains: []string{"example.com"}, ExternalDNSOwner: "me", ExternalDNSRole: "arn:aws:iam::111111111111:role/dns",
		RegistryOverrides: map[string]string{"quay.io": "mirror.example.com"}, MetricsSet: "Hypershift",
	}
}

func TestValues(t *testing.T) {
	got, err := all().Values()
	if err != nil {
		t.Fatal(err)
	}
	want := `aws:
  privateLink: true
  region: us-east-1
  roleARN: arn:aws:iam::111111111111:role/operator
externalDNS:
  aws:
    roleARN: arn:aws:iam::111111111111:role/dns
  domainFilters:
  - example.com
  enabled: true
  txtOwnerID: me
image:
  digest: sha256:` + strings.Repeat("a", 64) + `
  repository: registry.example.com:5000/hypershift
  tag: "1"
monitoring:
  metricsSet: Hypershift
oidc:
  bucket: docs
  credentialsSecret:
    name: oidc-creds
  region: us-east-1
registryOverrides:
  quay.io: mirror.example.com
replicas: 1
`
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
	if got, err := (Options{}).Values(); err != nil || string(got) != "{}\n" {
		t.Errorf("without flags: %s, %v", got, err)
	}
}

func TestImages(t *testing.T) {
	for image, want := range map[string][3]string{
		"r.example.com:5000/a":  {"r.example.com:5000/a", "", ""},
		"r/a:1":                 {"r/a", "1", ""},
		"r/a@sha256:1":          {"r/a", "", "sha256:1"},
		"r.io:5000/a:1@sha256:": {"r.io:5000/a", "1", "sha256:"},
	} {
		if r, tag, d := splitImage(image); [3]string{r, tag, d} != want {
			t.Errorf("%s: %s, %s, %s", image, r, tag, d)
		}
	}
}

func TestValidate(t *testing.T) {
	if errs := all().Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	for flag, change := range map[string]func(*Options){
		"--oidc-storage-provider-s3-region":      func(o *Options) { o.OIDCRegion = "" },
		"--oidc-storage-provider-s3-bucket-name": func(o *Options) { o.OIDCBucket = "a.b" },
		"--aws-private-region":                   func(o *Options) { o.AWSRegion = "" },
		"--aws-private-secret":                   func(o *Options) { o.AWSSecret = "s" },
		"--external-dns-domain-filter":           func(o *Options) { o.ExternalDNSDomains = nil },
		"--external-dns-txt-owner-id":            func(o *Options) { o.ExternalDNSOwner = "" },
	} {
		o := all()
		change(&o)
		if errs := o.Validate(); len(errs) != 1 || errs[0].Field != flag {
			t.Errorf("%s: %v", flag, errs)
		}
	}
}

// TestBuiltInChartTakesTheValues fails if a flag sets a value that the chart does not have.
func TestBuiltInChartTakesTheValues(t *testing.T) {
	binaries, err := pinned.Ensure(t.Context(), t.Output(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	text, err := all().Values()
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	crds := Helm{Program: binaries["helm"], BuiltIn: CRDsChart, Out: &out, Err: &problems}
	if err := crds.Run(t.Context(), nil, "template", "hypershift-crds", "--namespace", "hypershift"); err != nil {
		t.Fatal(err, problems.String())
	}
	h := Helm{Program: binaries["helm"], BuiltIn: OperatorChart, Out: &out, Err: &problems}
	if err := h.Run(t.Context(), text, "template", "hypershift", "--namespace", "hypershift", "--set", "replicas=3"); err != nil {
		t.Fatal(err, problems.String())
	}
	for _, want := range []string{"--oidc-storage-provider-s3-bucket-name=docs", "--private-platform=AWS", "replicas: 3", "hostedclusters.hypershift.openshift.io", "name: oidc-storage-provider-s3-config"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestWithoutHelm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (Helm{}).Run(t.Context(), nil, "template", "hypershift"); !errors.Is(err, ErrNoHelm) {
		t.Errorf("got %v", err)
	}
}
