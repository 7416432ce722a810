package main

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		region string
		says   string // empty if the operator starts
	}{
		"nothing asked for":               {},
		"private clusters":                {args: []string{"--private-platform=AWS"}, region: "us-east-1"},
		"private clusters without region": {args: []string{"--private-platform=AWS"}, says: "AWS_REGION"},
		"another cloud":                   {args: []string{"--private-platform=Azure"}, says: "use AWS or None"},
		"a bucket": {
			args: []string{"--oidc-storage-provider-s3-bucket-name=b", "--oidc-storage-provider-s3-region=us-east-1"},
		},
		"a bucket without its region": {args: []string{"--oidc-storage-provider-s3-bucket-name=b"}, says: "needed together"},
		"a period of nothing":         {args: []string{"--resync-period=0s"}, says: "--resync-period must be more than 0"},
		"registries with mirrors":     {args: []string{"--registry-overrides=quay.io/a=mirror.test/a,registry.k8s.io=mirror.test/k8s"}},
		"an override without an end":  {args: []string{"--registry-overrides=quay.io"}, says: "write source=mirror"},
		"allowed repositories":        {args: []string{"--allowed-release-repositories=quay.io/a,registry.test:5000"}},
		"a repository of no registry": {args: []string{"--allowed-release-repositories=library/a"}, says: "write it with its host name"},
		"a key that is none":          {args: []string{"--release-signature-keys=abc"}, says: "not PEM"},
		"a word too many":             {args: []string{"run"}, says: `unexpected argument "run"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("hypershift-operator", tc.args, []string{"AWS_REGION=" + tc.region})
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
}
