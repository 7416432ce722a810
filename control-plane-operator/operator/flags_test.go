package operator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/internal/metricstls"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		wants string // part of the error; empty if the operator starts
	}{
		"nothing but the environment":   {},
		"a kubeconfig":                  {args: []string{"--kubeconfig=/tmp/kubeconfig"}},
		"registries with mirrors":       {args: []string{"--registry-overrides=quay.io/a=mirror.test/a"}},
		"no namespace":                  {args: []string{"--namespace="}, wants: "--namespace is missing"},
		"no image":                      {args: []string{"--image="}, wants: "--image is missing"},
		"no time between resyncs":       {args: []string{"--resync-period=0s"}, wants: "--resync-period must be more than 0"},
		"a negative interval":           {args: []string{"--identity-interval=-1s"}, wants: "--identity-interval must be more than 0"},
		"no interval at start":          {args: []string{"--api-start-interval=0s"}, wants: "--api-start-interval must be more than 0"},
		"no interval of checks":         {args: []string{"--api-interval=0s"}, wants: "--api-interval must be more than 0"},
		"an override without a mirror":  {args: []string{"--registry-overrides=quay.io"}, wants: "write source=mirror"},
		"its version":                   {args: []string{"--version", "--image="}, wants: version.ErrRequested.Error()},
		"an unknown flag":               {args: []string{"--colour=red"}, wants: "colour"},
		"a subcommand that is misspelt": {args: []string{"etcd-membre"}, wants: `unexpected argument "etcd-membre"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("control-plane-operator", tc.args, []string{"POD_NAMESPACE=clusters-demo", "CONTROL_PLANE_OPERATOR_IMAGE=image"})
			if tc.wants == "" && err != nil || tc.wants != "" && (err == nil || !strings.Contains(err.Error(), tc.wants)) {
				t.Errorf("error %v, want %q", err, tc.wants)
			}
		})
	}
}

func TestParsedOptions(t *testing.T) {
	environ := []string{"POD_NAMESPACE=clusters-demo", "CONTROL_PLANE_OPERATOR_IMAGE=image", metricstls.ClientCA + "=pem", "AWS_ENDPOINT_URL_EC2=http://ec2.test"}
	o, err := Parse("control-plane-operator", []string{"--namespace=clusters-other", "--api-interval=5s", "--leader-elect=false"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	if o.Namespace != "clusters-other" || o.Image != "image" || string(o.MetricsClientCA) != "pem" || o.APIInterval != 5*time.Second || o.LeaderElect {
		t.Errorf("got %+v", o)
	}
	var endpoints []string
	for _, v := range o.Egress {
		endpoints = append(endpoints, v.Name+"="+v.Value)
	}
	if !slices.Contains(endpoints, "AWS_ENDPOINT_URL_EC2=http://ec2.test") {
		t.Errorf("AWS endpoints are %v", endpoints)
	}
}
