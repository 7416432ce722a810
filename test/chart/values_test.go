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

func TestInvalidValuesAreReported(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"a typo":                                      {`imag: {tag: "1"}`, `additional properties 'imag' not allowed`},
		"a typo further down":                         {`aws: {privatLink: true}`, `at '/aws': additional properties 'privatLink' not allowed`},
		"a word for a number":                         {`replicas: two`, `at '/replicas': got string, want integer`},
		"an unknown level":                            {`log: {level: trace}`, `at '/log/level': value must be one of 'error', 'info', 'debug'`},
		"a period without a unit":                     {`periods: {resync: "30"}`, `periods.resync: "30" is not a duration with a unit, such as 30m`},
		"half a digest":                               {`image: {digest: "sha256:abc"}`, `image.digest: "sha256:abc" is not a digest`},
		"no period":                                   {`periods: {resync: 0s}`, `periods.resync: "0s" must be more than 0`},
		"no scrape interval":                          {`monitoring: {interval: 0m}`, `monitoring.interval: "0m" must be more than 0`},
		"an unknown period":                           {`periods: {awsPermissionsCheck: often}`, `periods.awsPermissionsCheck: "often" is not a duration`},
		"a name for a region":                         {`aws: {region: Frankfurt}`, `aws.region: "Frankfurt" is not a region of AWS`},
		"a zone for a region":                         {`oidc: {bucket: bucket, region: us-east-1a}`, `oidc.region: "us-east-1a" is not a region of AWS`},
		"a bucket name in capitals":                   {`oidc: {bucket: Bucket, region: us-east-1}`, `oidc.bucket: "Bucket" is not the name of an S3 bucket`},
		"a volume without a name":                     {`extraVolumes: [{emptyDir: {}}]`, `at '/extraVolumes/0'`},
		"an unknown DNS policy":                       {`dnsPolicy: Custom`, `at '/dnsPolicy'`},
		"a user for a role":                           {`aws: {roleARN: "arn:aws:iam::111111111111:user/me"}`, `aws.roleARN: "arn:aws:iam::111111111111:user/me" is not the ARN of a role`},
		"a bucket name that is incompatible with TLS": {`oidc: {bucket: my.bucket, region: us-east-1}`, `oidc.bucket: "my.bucket" contains a dot`},
		"a mirror with a comma":                       {`registryOverrides: {quay.io: "a,b"}`, `at '/registryOverrides/quay.io'`},
		"a repository with an invalid name":           {`releases: {allowedRepositories: ["Quay.io/a:1@x"]}`, `at '/releases/allowedRepositories/0'`},
		"a path for a key":                            {`releases: {signatureKeys: [/etc/key.pem]}`, `at '/releases/signatureKeys/0'`},
		"a name for an address":                       {`controlPlaneEgress: {managementAPIEndpoints: [api.example.com]}`, `at '/controlPlaneEgress/managementAPIEndpoints/0'`},
		"an address for a network":                    {`controlPlaneEgress: {blockedCIDRs: [10.0.0.1]}`, `at '/controlPlaneEgress/blockedCIDRs/0'`},
		"all addresses for a network":                 {`controlPlaneEgress: {blockedCIDRs: [0.0.0.0/0]}`, `at '/controlPlaneEgress/blockedCIDRs/0'`},
		"private clusters without a region":           {`aws: {privateLink: true}`, `aws.privateLink needs aws.region`},
		"two identities":                              {`aws: {roleARN: "arn:aws:iam::111111111111:role/a", credentialsSecret: {name: b}}`, `aws.roleARN and aws.credentialsSecret are both set`},
		"a bucket without a region":                   {`oidc: {bucket: documents}`, `oidc.bucket and oidc.region are needed together`},
		"a size of an unknown container":              {`controlPlaneSizes: [{nodes: 3, requests: {etcd: "cpu=1"}}]`, `at '/controlPlaneSizes/0/requests'`},
		"a size without a number":                     {`controlPlaneSizes: [{requests: {etcd.etcd: "cpu=1"}}]`, `at '/controlPlaneSizes/0'`},
		"an invalid quantity for a quota":             {`controlPlaneLimits: {quota: {pods: many}}`, `at '/controlPlaneLimits/quota/pods'`},
		"an invalid name for a priority class":        {`controlPlaneLimits: {priorityClasses: ["a,b"]}`, `at '/controlPlaneLimits/priorityClasses/0'`},
		"a role and EKS Pod Identity":                 {`aws: {podIdentity: true, roleARN: "arn:aws:iam::111111111111:role/a"}`, `aws.podIdentity is set together with aws.roleARN or aws.credentialsSecret`},
		"credentials without a bucket":                {`oidc: {credentialsSecret: {name: b}}`, `oidc.credentialsSecret is for a bucket`},
		"replicas without leader election":            {`leaderElection: false`, `replicas is more than 1 without leaderElection`},
		"external-dns without domain filters":         {`externalDNS: {enabled: true, txtOwnerID: a}`, `externalDNS.domainFilters is empty`},
		"external-dns without an owner id":            {`externalDNS: {enabled: true, domainFilters: [a.b]}`, `externalDNS.txtOwnerID is empty`},
		"external-dns with two identities":            {`externalDNS: {enabled: true, domainFilters: [a.b], txtOwnerID: a, aws: {roleARN: "arn:aws:iam::111111111111:role/a", credentialsSecret: {name: b}}}`, `externalDNS.aws.roleARN and externalDNS.aws.credentialsSecret are both set`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, "template", release, chartFile(t), "--values", write(t, tc.values))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// schema is the used part of values.schema.json.
type schema struct {
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// Helm adds "global" to the values of every chart.
func TestEveryValueIsInTheSchemaAndHasADefault(t *testing.T) {
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
		t.Errorf("unknown values in %s are accepted", at)
	}
	known, shown := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(values))
	if !slices.Contains([]string{"values.resources", "values.externalDNS.resources"}, at) && !slices.Equal(known, shown) {
		t.Errorf("%s: values.schema.json has %v, values.yaml has %v", at, known, shown)
	}
	for name, value := range values {
		if inner, ok := value.(map[string]any); ok && s.Properties[name].Properties != nil {
			compare(t, at+"."+name, s.Properties[name], inner)
		}
	}
}

// With the flags of the chart, the operator starts and gets as far as the connection to its cluster.
func TestOperatorAcceptsItsFlags(t *testing.T) {
	program := buildOperator(t)
	run := func(args []string, env ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append([]string{"KUBECONFIG=/dev/null/none", "PATH=" + os.Getenv("PATH")}, env...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("it connected to a cluster: %s", out)
		}
		return string(out)
	}
	if out := run([]string{"--no-such-flag"}); !strings.Contains(out, "no-such-flag") {
		t.Fatalf("the output does not name the unknown flag: %s", out)
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
					t.Errorf("the output with %v is: %s", c.Args, out)
				}
			}
		})
	}
	t.Run("the check before it is uninstalled", func(t *testing.T) {
		if out := run([]string{"uninstall-check"}); !strings.Contains(out, "finding the management cluster") {
			t.Errorf("the output is: %s", out)
		}
	})
}
