package timeline

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	demo  = types.NamespacedName{Namespace: "clusters", Name: "demo"}
)

func condition(status metav1.ConditionStatus, reason string, minute int) []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(start.Add(time.Duration(minute) * time.Minute))}}
}

func TestTransitionsBecomePoints(t *testing.T) {
	r := NewRecorder()
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	r.Observe(demo, "HostedCluster", "demo", condition(metav1.ConditionTrue, "AsExpected", -60), minute(0))
	r.Observe(demo, "HostedCluster", "demo", condition(metav1.ConditionTrue, "AsExpected", -60), minute(1)) // no change
	r.Observe(demo, "HostedCluster", "demo", condition(metav1.ConditionFalse, "Etcd", 2), minute(2))
	r.Observe(demo, "HostedCluster", "demo", condition(metav1.ConditionFalse, "Router", 2), minute(3)) // a reason without a transition
	r.Observe(demo, "HostedCluster", "demo", condition(metav1.ConditionTrue, "AsExpected", 4), minute(5))
	lanes := r.Lanes(demo)
	if len(lanes) != 1 {
		t.Fatalf("%d lanes", len(lanes))
	}
	got := ""
	for _, p := range lanes[0].Points {
		got += fmt.Sprintf("%v %s %s %t; ", p.Time.Sub(start), p.Status, p.Reason, p.Normal)
	}
	if want := "-1h0m0s True AsExpected true; 2m0s False Etcd false; 3m0s False Router false; 4m0s True AsExpected true; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Observe(demo, "NodePool", "demo", condition(metav1.ConditionTrue, "AsExpected", 4), minute(5))
	r.Remove(demo, "NodePool", "demo")
	if lanes := r.Lanes(demo); len(lanes) != 1 || lanes[0].Kind != "HostedCluster" {
		t.Errorf("after the deletion of a NodePool: %+v", lanes)
	}
	r.Forget(demo)
	if len(r.Lanes(demo)) != 0 {
		t.Error("a cluster that was forgotten has lanes")
	}
}

func TestLanesKeepTheNewestPoints(t *testing.T) {
	r := NewRecorder()
	statuses := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse}
	const transitions = 2*maxPoints + 1
	for i := range transitions {
		r.Observe(demo, "HostedCluster", "demo", condition(statuses[i%2], "Reason", i), start)
	}
	points := r.Lanes(demo)[0].Points
	if last := points[len(points)-1]; len(points) != maxPoints || !last.Time.Equal(start.Add((transitions-1)*time.Minute)) {
		t.Errorf("%d points, the last at %s", len(points), last.Time)
	}
}
