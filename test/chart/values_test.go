package chart_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func TestMistakesAreNamed(t *testing.T) {
	for name, tc := range map[string]struct{ values, says string }{
		"a typo":                         {`imag: {tag: "1"}`, `additional properties 'imag' not allowed`},
		"a typo further down":            {`aws: {privatLink: true}`, `at '/aws': additional properties 'privatLink' not allowed`},
		"a word for a number":            {`replicas: two`, `at '/replicas': got string, want integer`},
		"a level that there is not":      {`log: {level: trace}`, `at '/log/level': value must be one of 'error', 'info', 'debug'`},
		"a period without a unit":        {`periods: {resync: "30"}`, `at '/periods/resync': '30' does not match pattern`},
		"half a digest":                  {`image: {digest: "sha256:abc"}`, `at '/image/digest'`},
		"a user for a role":              {`aws: {roleARN: "arn:aws:iam::111111111111:user/me"}`, `at '/aws/roleARN'`},
		"a bucket that S3 gives no TLS":  {`oidc: {bucket: my.bucket, region: us-east-1}`, `at '/oidc/bucket'`},
		"a mirror with a comma":          {`registryOverrides: {quay.io: "a,b"}`, `at '/registryOverrides/quay.io'`},
		"a repository of no registry":    {`releases: {allowedRepositories: ["Quay.io/a:1@x"]}`, `at '/releases/allowedRepositories/0'`},
		"a key that is a file":           {`releases: {signatureKeys: [/etc/key.pem]}`, `at '/releases/signatureKeys/0'`},
		"a name for an address":          {`controlPlaneEgress: {managementAPIEndpoints: [api.example.com]}`, `at '/controlPlaneEgress/managementAPIEndpoints/0'`},
		"an address for a network":       {`controlPlaneEgress: {blockedCIDRs: [10.0.0.1]}`, `at '/controlPlaneEgress/blockedCIDRs/0'`},
		"the world for a network":        {`controlPlaneEgress: {blockedCIDRs: [0.0.0.0/0]}`, `at '/controlPlaneEgress/blockedCIDRs/0'`},
		"private clusters nowhere":       {`aws: {privateLink: true}`, `aws.privateLink needs aws.region`},
		"two identities":                 {`aws: {roleARN: "arn:aws:iam::111111111111:role/a", credentialsSecret: {name: b}}`, `aws.roleARN and aws.credentialsSecret are both set`},
		"a bucket nowhere":               {`oidc: {bucket: b}`, `oidc.bucket and oidc.region are needed together`},
		"a quota that is no quantity":    {`controlPlaneLimits: {quota: {pods: many}}`, `at '/controlPlaneLimits/quota/pods'`},
		"a class that is no name":        {`controlPlaneLimits: {priorityClasses: ["a,b"]}`, `at '/controlPlaneLimits/priorityClasses/0'`},
		"credentials for no bucket":      {`oidc: {credentialsSecret: {name: b}}`, `oidc.credentialsSecret is for a bucket`},
		"two that work at once":          {`leaderElection: false`, `replicas is more than 1 without leaderElection`},
		"public names of all the world":  {`externalDNS: {enabled: true, txtOwnerID: a}`, `externalDNS.domainFilters is empty`},
		"public names of nobody":         {`externalDNS: {enabled: true, domainFilters: [a.b]}`, `externalDNS.txtOwnerID is empty`},
		"public names by two identities": {`externalDNS: {enabled: true, domainFilters: [a.b], txtOwnerID: a, aws: {roleARN: "arn:aws:iam::111111111111:role/a", credentialsSecret: {name: b}}}`, `externalDNS.aws.roleARN and externalDNS.aws.credentialsSecret are both set`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, "template", release, chartFile(t), "--values", write(t, tc.values))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
}

// schema is what of values.schema.json says which values there are.
type schema struct {
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// Helm adds "global" to the values of every chart.
func TestEveryValueIsInTheSchemaAndShownWithItsDefault(t *testing.T) {
	var s schema
	if err := json.Unmarshal(read(t, chartFile(t, "values.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	delete(s.Properties, "global")
	var values map[string]any
	if err := yaml.UnmarshalStrict(read(t, chartFile(t, "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	compare(t, "values", s, values)
}

func compare(t *testing.T, at string, s schema, values map[string]any) {
	if s.AdditionalProperties != false {
		t.Errorf("a typo in %s is accepted", at)
	}
	known, shown := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(values))
	if at != "values.resources" && at != "values.externalDNS.resources" && !slices.Equal(known, shown) {
		t.Errorf("%s: the schema knows %v, values.yaml shows %v", at, known, shown)
	}
	for name, value := range values {
		if inner, ok := value.(map[string]any); ok && s.Properties[name].Properties != nil {
			compare(t, at+"."+name, s.Properties[name], inner)
		}
	}
}

// The operator gets as far as to look for its cluster with what the chart tells it.
func TestTheOperatorTakesItsFlags(t *testing.T) {
	program := buildOperator(t)
	run := func(args []string, env ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append([]string{"KUBECONFIG=/dev/null/none", "PATH=" + os.Getenv("PATH")}, env...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("it found a cluster: %s", out)
		}
		return string(out)
	}
	if out := run([]string{"--no-such-flag"}); !strings.Contains(out, "no-such-flag") {
		t.Fatalf("it does not say what is wrong with its flags: %s", out)
	}
	for name, values := range installations {
		t.Run(name, func(t *testing.T) {
			for _, obj := range render(t, values) {
				d, ok := typed(t, obj).(*appsv1.Deployment)
				if !ok || d.Name != "hypershift-operator" {
					continue
				}
				c := d.Spec.Template.Spec.Containers[0]
				var env []string
				for _, v := range c.Env {
					env = append(env, v.Name+"="+v.Value)
				}
				if out := run(c.Args, env...); !strings.Contains(out, "finding the management cluster") {
					t.Errorf("with %v it says: %s", c.Args, out)
				}
			}
		})
	}
	t.Run("the check before it is uninstalled", func(t *testing.T) {
		if out := run([]string{"uninstall-check"}); !strings.Contains(out, "finding the management cluster") {
			t.Errorf("it says: %s", out)
		}
	})
}
