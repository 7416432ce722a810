package aws

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestDesiredSubnets(t *testing.T) {
	byFilter := *pool("filtering", "")
	byFilter.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"x"}}}}
	elsewhere := hyperv1.NodePool{}
	unreadable := hyperv1.NodePool{}
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"spoilt"},"spec":{"clusterName":"demo","platform":"AWS"}}`), &unreadable); err != nil {
		t.Fatal(err)
	}
	var many []hyperv1.NodePool
	for i := range maxSubnets + 1 {
		many = append(many, *pool("p", "subnet-"+strconv.Itoa(1000+i)))
	}
	for name, tc := range map[string]struct {
		pools []hyperv1.NodePool
		have  []string
		dying bool
		want  []string
		note  string
	}{
		"subnets of all pools, sorted, each once": {
			pools: []hyperv1.NodePool{*pool("1", "subnet-b"), *pool("2", "subnet-a"), *pool("3", "subnet-b")},
			want:  []string{"subnet-a", "subnet-b"},
		},
		"a pool that is gone takes its subnet with it": {
			pools: []hyperv1.NodePool{*pool("1", "subnet-a")}, have: []string{"subnet-a", "subnet-b"},
			want: []string{"subnet-a"},
		},
		"the last subnet stays when the last pool goes": {
			have: []string{"subnet-a"}, want: []string{"subnet-a"},
		},
		"a cluster that is being deleted loses no subnet": {
			pools: []hyperv1.NodePool{*pool("1", "subnet-a")}, have: []string{"subnet-a", "subnet-b"}, dying: true,
			want: []string{"subnet-a", "subnet-b"},
		},
		"a pool that chooses by filters is named": {
			pools: []hyperv1.NodePool{byFilter, *pool("1", "subnet-a")},
			want:  []string{"subnet-a"}, note: "node pools filtering choose their subnet by filters",
		},
		"while a pool cannot be read no subnet is taken away": {
			pools: []hyperv1.NodePool{unreadable, *pool("1", "subnet-a")}, have: []string{"subnet-b"},
			want: []string{"subnet-a", "subnet-b"}, note: "node pools spoilt cannot be read",
		},
		"a pool on another platform has no subnet": {
			pools: []hyperv1.NodePool{elsewhere},
		},
		"subnets that do not fit are reported": {
			pools: many, want: nil, note: "live in 201 subnets",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, note := desiredSubnets(tc.pools, tc.have, tc.dying)
			if !strings.Contains(note, tc.note) || (tc.note == "") != (note == "") {
				t.Errorf("note %q, want %q", note, tc.note)
			}
			if len(tc.pools) > maxSubnets {
				if len(got) != maxSubnets {
					t.Errorf("%d subnets, want %d", len(got), maxSubnets)
				}
				return
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestDesiredPrincipals(t *testing.T) {
	for name, tc := range map[string]struct {
		spec hyperv1.AWSPlatformSpec
		want []string
	}{
		"the role, without its path": {
			spec: hyperv1.AWSPlatformSpec{RolesRef: hyperv1.AWSRolesRef{ControlPlaneOperatorARN: "arn:aws:iam::222222222222:role/a/b/cpo"}},
			want: []string{"arn:aws:iam::222222222222:role/cpo"},
		},
		"additional principals of the user, each once": {
			spec: hyperv1.AWSPlatformSpec{
				RolesRef:                    hyperv1.AWSRolesRef{ControlPlaneOperatorARN: "arn:aws:iam::222222222222:role/cpo"},
				AdditionalAllowedPrincipals: []string{"arn:aws:iam::333333333333:root", "arn:aws:iam::222222222222:role/cpo"},
			},
			want: []string{"arn:aws:iam::222222222222:role/cpo", "arn:aws:iam::333333333333:root"},
		},
		"the role that makes the endpoint in a shared VPC": {
			spec: hyperv1.AWSPlatformSpec{
				RolesRef:  hyperv1.AWSRolesRef{ControlPlaneOperatorARN: "arn:aws:iam::222222222222:role/cpo"},
				SharedVPC: &hyperv1.AWSSharedVPC{RolesRef: hyperv1.AWSSharedVPCRolesRef{ControlPlaneARN: "arn:aws:iam::444444444444:role/p/vpc"}},
			},
			want: []string{"arn:aws:iam::222222222222:role/cpo", "arn:aws:iam::444444444444:role/vpc"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := desiredPrincipals(&tc.spec); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEventsThatStartAReconcile(t *testing.T) {
	filters := hyperv1.AWSResourceReference{Filters: []hyperv1.Filter{{Name: "tag:Name", Values: []string{"x"}}}}
	for name, tc := range map[string]struct {
		change func(*hyperv1.NodePool)
		want   bool
	}{
		"another subnet":           {func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.Subnet.ID = ptr.To("subnet-z") }, true},
		"filters instead of an id": {func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.Subnet = filters }, true},
		"another cluster":          {func(np *hyperv1.NodePool) { np.Spec.ClusterName = "other" }, true},
		"more replicas":            {func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](3) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			was := pool("a", "subnet-a")
			is := was.DeepCopy()
			tc.change(is)
			if got := nodePoolMoved().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != tc.want {
				t.Errorf("wakes up: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOwnWritesDoNotStartAReconcile(t *testing.T) {
	e := newPrivateLink(t)
	r := e.reconciler()
	was := e.service()
	for range 2 { // the second pass would wait for the zones
		if _, err := r.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(was)}); err != nil {
			t.Fatal(err)
		}
	}
	settled := e.service()
	for name, tc := range map[string]struct {
		was    *hyperv1.AWSEndpointService
		change func(*hyperv1.AWSEndpointService)
		want   bool
	}{
		"all that a first pass writes": {was: was},
		"the other operator's finalizer": {settled, func(es *hyperv1.AWSEndpointService) {
			es.Finalizers = append(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer)
		}, false},
		"the other operator's status": {settled, func(es *hyperv1.AWSEndpointService) { es.Status.EndpointID = "vpce-1" }, false},
		"another load balancer":       {settled, func(es *hyperv1.AWSEndpointService) { es.Spec.NetworkLoadBalancerName = "other" }, true},
		"other tags":                  {settled, func(es *hyperv1.AWSEndpointService) { es.Spec.ResourceTags = nil }, true},
		"subnets that no pool has":    {settled, func(es *hyperv1.AWSEndpointService) { es.Spec.SubnetIDs = []string{"subnet-z"} }, true},
		"our finalizer taken away":    {settled, func(es *hyperv1.AWSEndpointService) { es.Finalizers = nil }, true},
		"deletion":                    {settled, func(es *hyperv1.AWSEndpointService) { es.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			is := settled.DeepCopy()
			if tc.change != nil {
				tc.change(is)
			}
			if got := r.endpointServiceChanged().Update(event.UpdateEvent{ObjectOld: tc.was, ObjectNew: is}); got != tc.want {
				t.Errorf("wakes up: %v, want %v", got, tc.want)
			}
		})
	}
}
