package hostedcluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestDeletionWaitsForTheHostedClusterToCleanUp(t *testing.T) {
	available := &metav1.Condition{Status: metav1.ConditionTrue}
	unreachable := &metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Timeout", Message: "no answer"}
	remaining := &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.CloudResourcesRemainingReason, Message: "load balancer a1 of Service default/web"}
	balancer := hyperv1.LeftBehindResource{Service: "ELB", Type: "load balancer", ID: "a1"}
	volume := hyperv1.LeftBehindResource{Service: "EC2", Type: "volume", ID: "vol-1", Reason: hyperv1.ControllerNotRunningReason}
	for name, tc := range map[string]struct {
		api          *metav1.Condition // of the hosted API server
		neverRan     bool
		reported     *metav1.Condition // by the control-plane-operator
		resources    []hyperv1.LeftBehindResource
		choice       string // the value of the annotation
		ingress      bool   // there is an ingress controller
		waits, asked bool
		event        string
	}{
		"an API server that never ran has created nothing":                    {api: unreachable, neverRan: true},
		"the user keeps everything":                                           {api: available, choice: "false"},
		"the user keeps everything in another spelling":                       {api: available, choice: "False"},
		"the ingress controller is removed even if the user keeps everything": {api: available, choice: "false", ingress: true, waits: true, event: "left behind: what carries the tag kubernetes.io/cluster/demo-x"},
		"a cluster that has nothing is deleted at once":                       {api: available, reported: &metav1.Condition{Status: metav1.ConditionTrue, Message: reconcile.AllIsWell}},
		"a hosted cluster that has not answered is waited for":                {api: available, waits: true, asked: true, event: "left behind: what carries the tag kubernetes.io/cluster/demo-x"},
		"what remains is listed by its ID":                                    {api: available, reported: remaining, resources: []hyperv1.LeftBehindResource{balancer}, waits: true, asked: true, event: "left behind: load balancer a1"},
		"the user may ask for it":                                             {api: available, choice: "true", reported: remaining, resources: []hyperv1.LeftBehindResource{balancer}, waits: true, asked: true, event: "left behind: load balancer a1"},
		"an earlier control-plane-operator lists no IDs":                      {api: available, reported: remaining, waits: true, asked: true, event: "left behind: load balancer a1 of Service default/web"},
		"an API server that does not respond cannot list them":                {api: unreachable, waits: true, asked: true, event: "the hosted API server does not answer (no answer); left behind: what carries the tag kubernetes.io/cluster/demo-x"},
		"a controller that does not run is not waited for":                    {api: available, asked: true, reported: &metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.ControllerNotRunningReason, Message: "volume vol-1"}, resources: []hyperv1.LeftBehindResource{volume}, event: "left behind: volume vol-1"},
		"one controller that does not run, beside one that runs":              {api: available, asked: true, reported: remaining, resources: []hyperv1.LeftBehindResource{balancer, volume}, waits: true, event: "left behind: load balancer a1, volume vol-1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptyManagementCluster(t)
			hc := privateCluster()
			if tc.choice != "" {
				hc.Annotations = map[string]string{hyperv1.CleanupCloudResourcesAnnotation: tc.choice}
			}
			e.Create(testenv.PullSecret(), hc)
			e.Restart()
			e.Run(3)
			e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) {
				if tc.ingress {
					st.Ingress = &hyperv1.IngressStatus{LoadBalancer: "ingress.elb.us-east-1.amazonaws.com"}
				}
				st.Initialized, st.RemainingCloudResources = !tc.neverRan, tc.resources
				meta.RemoveStatusCondition(&st.Conditions, hyperv1.KubeAPIServerAvailable)
				for of, c := range map[string]*metav1.Condition{hyperv1.KubeAPIServerAvailable: tc.api, hyperv1.CloudResourcesDestroyed: tc.reported} {
					if c != nil {
						c.Type = of
						reconcile.SetCondition(&st.Conditions, *c, e.Clock.Now())
					}
				}
			})
			e.silent = true
			e.Delete(hc)
			e.Run(3)
			hcp := &hyperv1.HostedControlPlane{}
			exists := e.Has(hcp, "demo")
			if going := !exists || !hcp.DeletionTimestamp.IsZero(); going == tc.waits {
				t.Errorf("the control plane goes: %v, want waiting: %v", going, tc.waits)
			}
			if asked := hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == "true" && hcp.Annotations[hyperv1.HostedClusterDeletedAnnotation] == "true"; exists && asked != tc.asked {
				t.Errorf("the hosted cluster was asked: %v, want %v", asked, tc.asked)
			}
			if tc.waits {
				e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "waiting for the hosted cluster to remove what it made in the cloud")
				e.Clock.Step(orphanAfter)
				e.Run(1)
			}
			if tc.event != "" {
				e.wantEvent("CloudResourcesLeftBehind", tc.event)
			}
			e.Run(6)
			if e.Exists(privateCluster()) {
				t.Error("the cluster is still there")
			}
		})
	}
}

// The controllers of volumes run on nodes. Nodes stay until the hosted cluster has deleted its cloud resources.
// A schedule that does not select the cluster any more makes no last backup, and does not end the wait for it.
func TestDeletionWaitsForALastBackupForSomeTime(t *testing.T) {
	e := newEmptyManagementCluster(t)
	hc := privateCluster()
	hc.Finalizers = []string{hyperv1.LastBackupFinalizer}
	e.Create(testenv.PullSecret(), hc)
	e.Restart()
	e.Run(3)
	e.Delete(hc)
	e.Run(3)
	if hcp := e.HCP(); !hcp.DeletionTimestamp.IsZero() {
		t.Error("the control plane is deleted before its last backup")
	}
	e.Clock.Step(10 * time.Minute)
	e.Run(20)
	if e.Exists(hc) || !e.Events.Contains("without the last backup of etcd") {
		t.Errorf("the cluster exists: %v", e.Exists(hc))
	}
}

func TestMachinesStayUntilCloudResourcesAreDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		api   metav1.ConditionStatus
		stays bool
	}{
		"while the API server responds":                     {metav1.ConditionTrue, true},
		"not if the API server does not respond":            {metav1.ConditionUnknown, false},
		"not if the API server is reported not to be there": {metav1.ConditionFalse, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newManagementCluster(t)
			e.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
			e.Restart()
			e.Run(10)
			e.silent = true
			e.updateControlPlaneStatus(func(st *hyperv1.HostedControlPlaneStatus) {
				reconcile.SetCondition(&st.Conditions, metav1.Condition{Type: hyperv1.KubeAPIServerAvailable, Status: tc.api}, e.Clock.Now())
			})
			e.Delete(privateCluster())
			e.Run(6)
			if stays := e.Has(&infrav1.AWSMachine{}, "workers-1"); stays != tc.stays {
				t.Errorf("the machine exists: %v, want %v", stays, tc.stays)
			}
			e.silent = false
			e.Run(12)
			if e.Has(&infrav1.AWSMachine{}, "workers-1") {
				t.Error("the machine still exists")
			}
		})
	}
}

// A user who sets the annotation during the deletion keeps the remaining resources.
func TestCleanupStopsWhenTheUserKeepsTheResources(t *testing.T) {
	e := newManagementCluster(t)
	e.created = []hyperv1.LeftBehindResource{{Service: "ELB", Type: "load balancer", ID: "a1"}}
	e.Restart()
	e.Run(10)
	e.silent = true
	e.Delete(privateCluster())
	e.Run(2)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.CleanupCloudResourcesAnnotation: "false"}
	})
	e.Clock.Step(time.Second)
	e.Run(1)
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") || hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != "false" {
		t.Errorf("the hosted cluster is still asked: %v", hcp.Annotations)
	}
}

// The user decides after the deletion has begun, and the API server of the cluster does not answer. The control-plane-operator would delete the
// bucket of the image registry.
func TestAControlPlaneIsDeletedWithTheUsersLastWish(t *testing.T) {
	for _, wish := range []string{"false", "true"} {
		e := newManagementCluster(t)
		e.Run(4)
		hcp := &hyperv1.HostedControlPlane{}
		e.Must(e.Admin().Get(e.T.Context(), client.ObjectKey{Namespace: plane, Name: "demo"}, hcp))
		hcp.Finalizers = append(hcp.Finalizers, hyperv1.ImageRegistryFinalizer)
		hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] = map[string]string{"false": "true", "true": "no"}[wish]
		e.Update(hcp)
		e.Delete(privateCluster())
		e.change(func(hc *hyperv1.HostedCluster) {
			hc.Annotations = map[string]string{hyperv1.CleanupCloudResourcesAnnotation: wish}
		})
		e.Run(8)
		if !e.Has(hcp, "demo") || hcp.DeletionTimestamp.IsZero() || hcp.KeepsCloudResources() != (wish == "false") {
			t.Errorf("%s: the control plane has %v", wish, hcp.Annotations)
		}
	}
}
