package teardown

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
)

// Unknown never leads to orphaning, nor does anything that has lasted for less than
// the whole period.
func TestResourcesAreOrphanedWhenThatIsCertain(t *testing.T) {
	const (
		namespaceDeleted = "namespace clusters-demo was deleted, and the control-plane-operator with it"
		rejected         = "AWS does not accept the cluster's identity (no OIDC provider)"
	)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	operator := func(status corev1.ConditionStatus, since time.Duration) *appsv1.Deployment {
		return &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: status, LastTransitionTime: *before(since)},
		}}}
	}
	running, stopped := operator(corev1.ConditionTrue, time.Hour), operator(corev1.ConditionFalse, time.Hour)
	for name, tc := range map[string]struct {
		deleted          *metav1.Time // the HostedCluster
		namespaceDeleted *metav1.Time
		rejected         time.Duration // how long AWS has rejected the identity
		operator         *appsv1.Deployment
		orphanAfter      string
		want             string
	}{
		"nothing is wrong": {deleted: before(time.Hour), operator: running},
		"AWS has rejected the identity for the period":                 {deleted: before(time.Hour), rejected: 10 * time.Minute, operator: running, want: rejected},
		"AWS has rejected the identity for less":                       {deleted: before(time.Hour), rejected: 9 * time.Minute, operator: running},
		"the period of a deletion begins with it":                      {deleted: before(9 * time.Minute), rejected: time.Hour, operator: running},
		"the user has chosen a shorter period":                         {deleted: before(time.Hour), rejected: time.Minute, operator: running, orphanAfter: "1m", want: rejected},
		"an invalid period counts as none":                             {deleted: before(time.Hour), rejected: time.Minute, operator: running, orphanAfter: "soon"},
		"the rejection is old, and nothing checks the identity now":    {deleted: before(time.Hour), rejected: time.Hour, operator: stopped},
		"the rejection is old, and the operator has just been started": {deleted: before(time.Hour), rejected: time.Hour, operator: operator(corev1.ConditionTrue, time.Minute)},
		"the rejection is old, and there is no operator":               {deleted: before(time.Hour), rejected: time.Hour},
		"the namespace was deleted, and the period is over":            {namespaceDeleted: before(10 * time.Minute), operator: stopped, want: namespaceDeleted},
		"the namespace was deleted, and the operator is gone":          {namespaceDeleted: before(10 * time.Minute), want: namespaceDeleted},
		"the namespace was deleted, and the period has begun":          {namespaceDeleted: before(9 * time.Minute)},
		"the namespace was deleted, and the operator still runs":       {namespaceDeleted: before(time.Hour), operator: running},
		"the namespace was deleted long before the cluster":            {namespaceDeleted: before(time.Hour), deleted: before(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{
				HostedCluster: &hyperv1.HostedCluster{}, Plane: controlplane.Namespace{Name: "clusters-demo"}, Namespace: &corev1.Namespace{}, Operator: tc.operator,
				ControlPlane: &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{Conditions: []metav1.Condition{
					{Type: hyperv1.ValidAWSIdentityProvider, Status: metav1.ConditionFalse, Message: "no OIDC provider"},
				}}},
			}
			c.HostedCluster.DeletionTimestamp, c.Namespace.DeletionTimestamp = tc.deleted, tc.namespaceDeleted
			if tc.orphanAfter != "" {
				c.HostedCluster.Annotations = map[string]string{hyperv1.GiveUpAfterAnnotation: tc.orphanAfter}
			}
			if tc.rejected > 0 {
				c.IdentityRejectedSince = now.Add(-tc.rejected)
			}
			if got := c.unrecoverable(now); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDeletionReportsTheHalfOfAnEndpointThatItWaitsFor(t *testing.T) {
	reported := []metav1.Condition{
		{Type: hyperv1.AWSEndpointAvailable, Message: "waiting for vpce-1"},
		{Type: hyperv1.AWSEndpointServiceAvailable, Message: "waiting for vpce-svc-1"},
	}
	for name, tc := range map[string]struct {
		endpointServices bool
		finalizers       []string
		want             string
	}{
		"first the customer's half": {true, []string{hyperv1.HypershiftOperatorFinalizer, hyperv1.ControlPlaneOperatorFinalizer}, "waiting for vpce-1"},
		"then the provider's half":  {true, []string{hyperv1.HypershiftOperatorFinalizer}, "waiting for vpce-svc-1"},
		"an installation without endpoint services cannot delete it": {false, []string{hyperv1.HypershiftOperatorFinalizer},
			"this installation cannot delete endpoint services: start the hypershift-operator with --private-platform=AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			es := &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Finalizers: tc.finalizers}}
			es.Status.Conditions = reported
			if got := endpointDetail(es, tc.endpointServices); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheSecurityGroupOfTheWorkersIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		status hyperv1.HostedControlPlaneStatus
		want   string
	}{
		"the group is known": {
			hyperv1.HostedControlPlaneStatus{Platform: &hyperv1.PlatformStatus{AWS: &hyperv1.AWSPlatformStatus{DefaultWorkerSecurityGroupID: "sg-2"}}}, "security group sg-2",
		},
		"nobody lived to hear of it": {
			hyperv1.HostedControlPlaneStatus{WorkerSecurityGroup: &hyperv1.WorkerSecurityGroupRecord{VPC: "vpc-1", Creating: true}},
			"a security group of the workers, if it was made, in vpc-1",
		},
		"none was ever reached": {hyperv1.HostedControlPlaneStatus{WorkerSecurityGroup: &hyperv1.WorkerSecurityGroupRecord{VPC: "vpc-1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := workerSecurityGroup(&hyperv1.HostedControlPlane{Status: c.status}); (got == nil) != (c.want == "") || got != nil && describeResource(*got) != c.want {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
