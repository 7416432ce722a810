package dataplane

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestConditionsOfAConnection(t *testing.T) {
	for name, c := range map[string]struct {
		connection         Connection
		toNodes, fromNodes string
	}{
		"no nodes":                              {Connection{NoNodes: true}, hyperv1.NoNodesReason, hyperv1.NoNodesReason},
		"no tunnels, nodes report":              {Connection{}, hyperv1.NoTunnelsReason, hyperv1.AsExpectedReason},
		"no tunnels, and no node reports":       {Connection{Silent: true}, hyperv1.NoTunnelsReason, hyperv1.NodesSilentReason},
		"tunnels through which no node answers": {Connection{Agents: 2, Problem: errors.New("timeout")}, hyperv1.NodesUnreachableReason, hyperv1.AsExpectedReason},
		"nodes respond":                         {Connection{Agents: 2}, hyperv1.AsExpectedReason, hyperv1.AsExpectedReason},
	} {
		if got := c.connection.ToNodes(); got.Reason != c.toNodes || (got.Status == metav1.ConditionTrue) != (c.toNodes == hyperv1.AsExpectedReason) {
			t.Errorf("%s: to nodes %+v, want %s", name, got, c.toNodes)
		}
		if got := c.connection.FromNodes(); got.Reason != c.fromNodes || (got.Status == metav1.ConditionTrue) != (c.fromNodes == hyperv1.AsExpectedReason) {
			t.Errorf("%s: from nodes %+v, want %s", name, got, c.fromNodes)
		}
	}
}

func TestConditionOfKubelets(t *testing.T) {
	for want, k := range map[string]Kubelets{
		"True: the API server verifies the serving certificates of kubelets": {Verified: true},
		"Unknown: the cluster has no nodes":                                  {},
		"True: all kubelets serve with signed certificates":                  {Nodes: 2},
		"False: the API server does not verify kubelets while nodes a, b serve with self-signed certificates: nodes of new machines have signed ones": {Nodes: 3, SelfSigned: []string{"b", "a"}},
	} {
		if c := k.Condition(); string(c.Status)+": "+c.Message != want {
			t.Errorf("%+v: got %s: %s, want %s", k, c.Status, c.Message, want)
		}
	}
}

func TestARecentResultIsNotCheckedAgain(t *testing.T) {
	now, interval := time.Now(), time.Minute
	good, bad := Connection{Agents: 1}, Connection{}
	last := &lastResult{}
	if _, recent := last.recent(now, interval); recent {
		t.Error("there is a result before the first check")
	}
	if !last.record(good, now, byReconcile) {
		t.Error("the first result is no change")
	}
	if _, recent := last.recent(now.Add(interval), interval); !recent {
		t.Error("a good result does not count for the interval")
	}
	if _, recent := last.recent(now.Add(interval+1), interval); recent {
		t.Error("a good result counts for ever")
	}
	if last.record(good, now, byMonitor) {
		t.Error("the same result is a change")
	}
	if !last.record(bad, now, byMonitor) {
		t.Error("another result is no change")
	}
	if got, recent := last.recent(now, interval); !recent || got != bad {
		t.Errorf("the monitor's result is lost: %+v", got)
	}
	if _, recent := last.recent(now, interval); recent {
		t.Error("a bad result that was reported is not checked again")
	}
}
