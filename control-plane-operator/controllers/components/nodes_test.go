package components

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/fakerelease"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// A cluster without nodes has no scheduler, and no controllers for nodes. It gets them with its first node pool, before its first
// node, and keeps them: the cloud-controller-manager may have made load balancers, also without a node.
func TestSmallControlPlaneWithoutNodes(t *testing.T) {
	e := upWithoutPools(t)
	e.expectSmall("without node pools", true)

	e.Create(clusterAPI())
	e.Settle()
	e.expectSmall("with a node pool", false)

	e.Delete(clusterAPI())
	e.Settle()
	e.expectSmall("without the node pool, which never had a node", false)
}

// upWithoutPools is an environment in which a release with the cloud-controller-manager runs, without node pools.
func upWithoutPools(t *testing.T) *fakeKubelet {
	t.Helper()
	e := newFakeKubelet(t, controlPlane(hyperv1.SingleReplica))
	e.releases.Put(fakerelease.With(fakerelease.Kubernetes(older, "1.35.4"), func(r *release.Release) {
		r.Components[names.CloudControllerManager] = "example.test/aws-cloud-controller-manager:1.35.4"
	}))
	e.Delete(clusterAPI())
	e.Settle()
	return e
}

func TestANodeThatJoinsByItselfNeedsAScheduler(t *testing.T) {
	e := upWithoutPools(t)
	e.expectSmall("without nodes", true)
	e.nodes(1, metav1.ConditionTrue)
	e.Settle()
	e.expectSmall("with a node", false)
	e.nodes(0, metav1.ConditionTrue)
	e.Settle()
	e.expectSmall("after that node has gone", false)
}

func TestNodesThatJoinByThemselvesNeedAScheduler(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	e := newFakeKubelet(t, hcp)
	e.Delete(clusterAPI())
	e.Settle()
	e.expectSmall("on another platform", false)
}

func TestNodesOnDemandNeedAScheduler(t *testing.T) {
	hcp := controlPlane(hyperv1.SingleReplica)
	hcp.Spec.AutoNode = &hyperv1.AutoNode{Provisioner: hyperv1.ProvisionerConfig{Name: hyperv1.ProvisionerKarpenter, Karpenter: &hyperv1.KarpenterConfig{
		Platform: hyperv1.AWSPlatform, AWS: &hyperv1.KarpenterAWSConfig{RoleARN: "arn:aws:iam::123456789012:role/karpenter"},
	}}}
	e := newFakeKubelet(t, hcp)
	e.Delete(clusterAPI())
	e.Settle()
	e.expectSmall("with nodes on demand", false)
}

func (e *fakeKubelet) expectSmall(when string, small bool) {
	e.T.Helper()
	if exists := e.Exists(componentNamed(names.KubeScheduler)); exists == small {
		e.T.Errorf("%s: kube-scheduler exists: %t", when, exists)
	}
	manager := testenv.Read(e.Env, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: names.KubeControllerManager}})
	chosen := slices.ContainsFunc(manager.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.Contains(arg, ",-node-lifecycle-controller,") })
	if chosen != small {
		e.T.Errorf("%s: kube-controller-manager runs only some controllers: %t", when, chosen)
	}
	if v := e.HCP().Status.VersionStatus; v == nil || len(v.History) != 1 {
		e.T.Errorf("%s: versions %+v", when, v)
	}
}

// A change of the Deployment, such as of its status, is no news.
func TestOnlyTheExistenceOfClusterAPIIsNews(t *testing.T) {
	news := appears(names.ClusterAPI)
	other := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: names.CAPIProvider}}
	for what, got := range map[string][2]bool{
		"its creation":                 {news.Create(event.CreateEvent{Object: clusterAPI()}), true},
		"its deletion":                 {news.Delete(event.DeleteEvent{Object: clusterAPI()}), true},
		"its change":                   {news.Update(event.UpdateEvent{ObjectOld: clusterAPI(), ObjectNew: clusterAPI()}), false},
		"the creation of the provider": {news.Create(event.CreateEvent{Object: other}), false},
	} {
		if got[0] != got[1] {
			t.Errorf("%s leads to a reconcile: %t", what, got[0])
		}
	}
}
