package clusterprogress

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func cluster(private bool, conditions map[string]string) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	if private {
		hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Private}}
	}
	for _, name := range slices.Concat(stages, privateStages, []string{hyperv1.HostedClusterAvailable, hyperv1.DataPlaneConnectionAvailable, hyperv1.HostedClusterStalled}) {
		text, ok := conditions[name]
		switch {
		case ok && text == "absent":
		case ok && name == hyperv1.HostedClusterStalled:
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Message: text})
		case ok:
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionFalse, Message: text, Reason: "Waiting"})
		case name != hyperv1.HostedClusterStalled:
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue})
		}
	}
	return hc
}

func pool(want, have int32, ready corev1.ConditionStatus, message string) hyperv1.NodePool {
	return hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-a", Generation: 2},
		Spec:       hyperv1.NodePoolSpec{Replicas: &want},
		Status: hyperv1.NodePoolStatus{Replicas: have, Conditions: []hyperv1.NodePoolCondition{
			{Type: hyperv1.NodePoolReadyCondition, Status: ready, Message: message, ObservedGeneration: 2},
		}},
	}
}

func TestCreation(t *testing.T) {
	outdated := pool(1, 1, corev1.ConditionTrue, "")
	outdated.Status.Conditions[0].ObservedGeneration = 1
	for name, c := range map[string]struct {
		hc      *hyperv1.HostedCluster
		pools   []hyperv1.NodePool
		waiting string
	}{
		"a cluster that is not found":                           {nil, nil, "HostedCluster: does not exist"},
		"an available cluster without pools":                    {cluster(false, map[string]string{hyperv1.DataPlaneConnectionAvailable: "absent", hyperv1.AWSEndpointAvailable: "absent"}), nil, ""},
		"a condition without a message shows its reason":        {cluster(false, map[string]string{hyperv1.EtcdAvailable: ""}), nil, "EtcdAvailable: False: Waiting"},
		"a condition that is not reported":                      {cluster(false, map[string]string{hyperv1.EtcdAvailable: "absent"}), nil, "EtcdAvailable: not reported yet"},
		"a private cluster waits for its endpoint":              {cluster(true, map[string]string{hyperv1.AWSEndpointAvailable: "no zone"}), nil, "AWSEndpointAvailable: no zone"},
		"a cluster that no waiting helps":                       {cluster(false, map[string]string{hyperv1.HostedClusterStalled: "change spec"}), nil, "Stalled: change spec"},
		"with nodes, the connection to them counts":             {cluster(false, map[string]string{hyperv1.DataPlaneConnectionAvailable: "no agent"}), []hyperv1.NodePool{pool(1, 1, corev1.ConditionTrue, "")}, "DataPlaneConnectionAvailable: no agent"},
		"a pool that lacks nodes":                               {cluster(false, nil), []hyperv1.NodePool{pool(3, 1, corev1.ConditionFalse, "2 machines boot")}, "NodePool demo-a: 2 machines boot"},
		"a pool that reports Ready with nodes that are too few": {cluster(false, nil), []hyperv1.NodePool{pool(3, 2, corev1.ConditionTrue, "")}, "NodePool demo-a: 2 of 3 nodes"},
		"a pool whose condition is about an earlier spec":       {cluster(false, nil), []hyperv1.NodePool{outdated}, "NodePool demo-a: 1 of 1 nodes"},
		"everything is there":                                   {cluster(true, nil), []hyperv1.NodePool{pool(1, 1, corev1.ConditionTrue, "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Creation(c.hc, c.pools)
			if got := p.Waiting(); got != c.waiting || p.Done != (c.waiting == "") {
				t.Errorf("done %v, waiting for %q, want %q", p.Done, got, c.waiting)
			}
		})
	}
}

func TestStalledNamesTheCauseOnce(t *testing.T) {
	const cause = "ValidReleaseImage: the image does not exist: push it"
	hc := cluster(false, map[string]string{hyperv1.HostedClusterAvailable: cause, hyperv1.ValidReleaseImage: "the image does not exist: push it", hyperv1.HostedClusterStalled: cause})
	p := Creation(hc, nil)
	if p.Stalled != cause || strings.Count(p.Waiting(), "the image does not exist") != 1 {
		t.Errorf("stalled by %q, waiting for %q", p.Stalled, p.Waiting())
	}
	hc.Generation = 2 // the user has just corrected it
	if p := Creation(hc, nil); p.Stalled != "" {
		t.Errorf("stalled by %q, which is about an earlier spec", p.Stalled)
	}
	np := pool(1, 0, corev1.ConditionFalse, "no")
	np.Status.Conditions = append(np.Status.Conditions, hyperv1.NodePoolCondition{Type: hyperv1.NodePoolStalledCondition, Status: corev1.ConditionTrue, Message: "SupportedVersionSkew: choose another", ObservedGeneration: 2})
	if p := Creation(cluster(false, nil), []hyperv1.NodePool{np}); p.Stalled != "NodePool demo-a: SupportedVersionSkew: choose another" {
		t.Errorf("stalled by %q", p.Stalled)
	}
}

func TestDeletion(t *testing.T) {
	const ours = "example.com/ours"
	hc := cluster(false, map[string]string{hyperv1.HostedClusterAvailable: "deleting machines"})
	hc.Finalizers = []string{ours}
	if Deletion(hc, nil, ours).Done {
		t.Error("a cluster that nobody has deleted counts as deleted")
	}
	hc.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if p := Deletion(hc, nil, ours); !p.Done {
		t.Errorf("only our finalizer is left, and it waits for %s", p.Waiting())
	}
	hc.Finalizers = append(hc.Finalizers, hyperv1.HostedClusterFinalizer)
	p := Deletion(hc, []hyperv1.NodePool{pool(1, 1, corev1.ConditionFalse, "1 machine is drained")}, ours)
	if got := p.Waiting(); p.Done || !strings.Contains(got, "deleting machines") || !strings.Contains(got, "NodePool demo-a: 1 machine is drained") {
		t.Errorf("done %v, waiting for %q", p.Done, got)
	}
	if !Deletion(nil, nil, ours).Done {
		t.Error("a cluster that does not exist is not deleted")
	}
}
