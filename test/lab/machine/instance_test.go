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

func TestNodeOfAnInstanceHasItsHostname(t *testing.T) {
	instance, machine := newInstance(t), newAgent(t, func(*Spec) {})
	if instance.places().node != "ip-10-1-0-4.ec2.internal" || instance.hostname() != "ip-10-1-0-4.ec2.internal" {
		t.Errorf("the node of the instance is %+v, its hostname %s", instance.places(), instance.hostname())
	}
	if machine.places().node != "m1" || machine.hostname() != "m1" {
		t.Errorf("the node of the machine is %+v, its hostname %s", machine.places(), machine.hostname())
	}
}
