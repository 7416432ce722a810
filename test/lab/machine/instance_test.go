package machine

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func newInstance(t *testing.T) *agent {
	return newAgent(t, func(s *Spec) {
		s.Address = "10.1.0.4/32"
		s.Instance = &Instance{Hostname: "ip-10-1-0-4.ec2.internal"}
	})
}

func TestUserDataWritesOnlyToWritableDirectories(t *testing.T) {
	for _, path := range []string{"/usr/bin/kubelet", "/etc/../root/.ssh/authorized_keys", "/etcetera"} {
		if err := install(path, "", 0o644); err == nil || !strings.Contains(err.Error(), "the image has only") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNodeOfAnInstanceHasItsHostname(t *testing.T) {
	instance, machine := newInstance(t), newAgent(t, func(*Spec) {})
	if instance.places().node != "ip-10-1-0-4.ec2.internal" || instance.hostname() != "ip-10-1-0-4.ec2.internal" {
		t.Errorf("the node of the instance is %+v, its hostname %s", instance.places(), instance.hostname())
	}
	if machine.places().node != "m1" || machine.hostname() != "m1" {
		t.Errorf("the node of the machine is %+v, its hostname %s", machine.places(), machine.hostname())
	}
}

func TestNodeOfTheManagementClusterServesCredentialsOfItsRole(t *testing.T) {
	a := newAgent(t, func(s *Spec) { s.NetworkPolicies, s.ProviderID = true, "aws:///us-east-1a/i-2" })
	for sentence, c := range map[string]struct {
		handler                     http.Handler
		method, path, header, value string
		code                        int
		contains                    string
	}{
		"a token":                      {a.nodeMetadata(), "PUT", "/latest/api/token", tokenHeader + "-ttl-seconds", "60", http.StatusOK, token},
		"nothing without a token":      {a.nodeMetadata(), "GET", "/latest/meta-data/iam/security-credentials/", "", "", http.StatusUnauthorized, "token"},
		"the name of its role":         {a.nodeMetadata(), "GET", "/latest/meta-data/iam/security-credentials/", tokenHeader, token, http.StatusOK, NodeRole},
		"the credentials of its role":  {a.nodeMetadata(), "GET", "/latest/meta-data/iam/security-credentials/" + NodeRole, tokenHeader, token, http.StatusOK, "AccessKeyId"},
		"its instance":                 {a.nodeMetadata(), "GET", "/latest/meta-data/instance-id", tokenHeader, token, http.StatusOK, "i-2"},
		"credentials of a task of ECS": {roleCredentials(), "GET", "/v2/credentials/0000", "", "", http.StatusOK, "AccessKeyId"},
		"credentials of a pod of EKS":  {roleCredentials(), "GET", "/v1/credentials", "", "", http.StatusOK, "AccessKeyId"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		req.Header.Set(c.header, c.value)
		answer := httptest.NewRecorder()
		c.handler.ServeHTTP(answer, req)
		if answer.Code != c.code || !strings.Contains(answer.Body.String(), c.contains) {
			t.Errorf("%s: %d %q", sentence, answer.Code, answer.Body)
		}
	}
}
