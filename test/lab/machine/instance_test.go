package machine

import (
	"testing"
)

func newInstance(t *testing.T) *agent {
	return newAgent(t, func(s *Spec) {
		s.Address = "10.1.0.4/32"
		s.Instance = &Instance{Hostname: "ip-10-1-0-4.ec2.internal"}
	})
}

func TestHostnameOfAnInstanceIsItsDNSName(t *testing.T) {
	if name := newInstance(t).hostname(); name != "ip-10-1-0-4.ec2.internal" {
		t.Errorf("the hostname of the instance is %s", name)
	}
	if name := newAgent(t, func(*Spec) {}).hostname(); name != "m1" {
		t.Errorf("the hostname of the machine is %s", name)
	}
}
