package nodepool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/trial"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func pool() *hyperv1.NodePool {
	return &hyperv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "workers", Generation: 2},
		Spec:       hyperv1.NodePoolSpec{ClusterName: "demo"},
	}
}

func TestConditions(t *testing.T) {
	unreadable := pool()
	if err := json.Unmarshal([]byte(`{"metadata":{"namespace":"clusters","name":"workers"},"spec":{"clusterName":"demo","replicas":"two"}}`), unreadable); err != nil {
		t.Fatal(err)
	}
	paused := pool()
	paused.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
	cluster := &hyperv1.HostedCluster{}
	for name, tc := range map[string]struct {
		np   *hyperv1.NodePool
		hc   *hyperv1.HostedCluster
		want map[string]string // condition -> status, reason, and a part of the message
	}{
		"a pool of a cluster promises no nodes": {pool(), cluster, map[string]string{
			"ValidConfiguration":   "True AsExpected All is well",
			"ReconciliationActive": "True AsExpected All is well",
			"Ready":                "False NotDeployed makes no machines yet",
		}},
		"a pool without its cluster says which is missing": {pool(), nil, map[string]string{
			"ValidConfiguration": `False NotFound HostedCluster "demo", which spec.clusterName names, does not exist in namespace clusters`,
			"Ready":              `False NotFound HostedCluster "demo"`,
		}},
		"a pool that cannot be read says which field": {unreadable, cluster, map[string]string{
			"ValidConfiguration": "False Unreadable spec.replicas",
			"Ready":              "False Unreadable spec.replicas",
		}},
		"a pause is said": {paused, cluster, map[string]string{
			"ReconciliationActive": `False ReconciliationPaused spec.pausedUntil is "true": remove it`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]hyperv1.NodePoolCondition{}
			for _, c := range conditions(tc.np, tc.hc, noon) {
				got[c.Type] = c
			}
			for condition, want := range tc.want {
				words := strings.SplitN(want, " ", 3)
				c := got[condition]
				if string(c.Status) != words[0] || c.Reason != words[1] || !strings.Contains(c.Message, words[2]) {
					t.Errorf("%s is %s %s %q, want %s", condition, c.Status, c.Reason, c.Message, want)
				}
			}
		})
	}
}

func TestAStatusThatStaysKeepsItsTime(t *testing.T) {
	np := pool()
	np.Status.Conditions = conditions(np, nil, noon)
	np.Status.Conditions = conditions(np, &hyperv1.HostedCluster{}, noon.Add(time.Hour))
	for _, c := range np.Status.Conditions {
		want := noon
		if c.Type == hyperv1.NodePoolValidConfigurationCondition {
			want = noon.Add(time.Hour) // from False to True
		}
		if !c.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s turned at %v, want %v", c.Type, c.LastTransitionTime, want)
		}
	}
}

func begin(t testing.TB) *trial.Story {
	scheme := runtime.NewScheme()
	utilruntime.Must(hyperv1.AddToScheme(scheme))
	clock := clocktesting.NewFakeClock(noon)
	cluster := trial.NewCluster(trial.Options{
		Scheme:     scheme,
		Converters: []managedfields.TypeConverter{trial.Converter("../../../config/crd")},
		Kinds:      []client.ObjectList{&hyperv1.NodePoolList{}},
		WithStatus: []client.Object{&hyperv1.NodePool{}},
	})
	cluster.Create(t, &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}, pool())
	key := client.ObjectKeyFromObject(pool())
	return &trial.Story{
		Cluster: cluster,
		Start: func() func(context.Context) error {
			r := New(Options{Client: cluster.Client(), Clock: clock})
			return func(ctx context.Context) error {
				return cluster.Queue(r.Reconcile(ctx, ctrl.Request{NamespacedName: key}))
			}
		},
		Advance: clock.Step,
		Ready: func(ctx context.Context) string {
			np := &hyperv1.NodePool{}
			if err := cluster.Admin().Get(ctx, key, np); err != nil {
				return err.Error()
			}
			if len(np.Status.Conditions) == 0 || np.Status.Conditions[0].Status != corev1.ConditionTrue {
				return "conditions"
			}
			return ""
		},
		Delete: func(ctx context.Context) error { return cluster.Admin().Delete(ctx, pool()) },
	}
}

func TestTrial(t *testing.T) {
	trial.Crash(t, begin)
	trial.Vanish(t, begin)
}

func TestTrialUnderFaults(t *testing.T) { trial.APIFaults(t, begin) }
