package controlplanestatus_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// conditionPart is the part of a controller that writes one condition.
func conditionPart(conditionType string) func(*hyperv1.HostedControlPlane) any {
	return func(hcp *hyperv1.HostedControlPlane) any {
		part := map[string]any{}
		if c := meta.FindStatusCondition(hcp.Status.Conditions, conditionType); c != nil {
			part["conditions"] = []metav1.Condition{*c}
		}
		return part
	}
}

// Each controller of an earlier version has applied its part as a field owner of its own.
func TestStatusOfAnEarlierVersionIsTakenOver(t *testing.T) {
	admin := apiServer(t)
	hcp := controlPlane()
	must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hcp.Namespace}}))
	must(t, admin.Create(t.Context(), hcp))
	former := map[string]string{ // by condition
		hyperv1.InfrastructureReady:                   "control-plane-operator",
		hyperv1.HostedControlPlaneDegraded:            "control-plane-operator-components",
		hyperv1.EtcdDataEncryptionUpToDate:            "control-plane-operator-encryption",
		hyperv1.ConfigOperatorReconciliationSucceeded: "control-plane-operator-guest",
		hyperv1.KubeAPIServerAvailable:                "control-plane-operator-hosted-api",
		hyperv1.ValidAWSKMSConfig:                     "control-plane-operator-keyprobe",
		hyperv1.ValidAWSIdentityProvider:              "control-plane-operator-probe",
		hyperv1.AWSDefaultSecurityGroupCreated:        "control-plane-operator-worker-security-group",
	}
	for condition, owner := range former {
		w := reconcile.NewWriter(admin, admin, hcp, owner, conditionPart(condition))
		reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue}, time.Unix(1, 0))
		must(t, w.Write(t.Context()))
	}
	if got := owners(t, admin, hcp); len(got) != len(former) {
		t.Fatalf("the former owners are %q", got)
	}

	status := controlplanestatus.New(admin, admin)
	parts := map[string]*reconcile.Part[*hyperv1.HostedControlPlane]{}
	for condition := range former {
		parts[condition] = status.Part(conditionPart(condition))
	}
	left := sets.KeySet(former).Insert(hyperv1.HostedClusterAvailable)
	for _, condition := range []string{hyperv1.ValidAWSKMSConfig, hyperv1.InfrastructureReady} {
		hcp, err := status.Get(t.Context(), client.ObjectKeyFromObject(hcp))
		must(t, err)
		w := parts[condition].Writer(hcp)
		meta.RemoveStatusCondition(&hcp.Status.Conditions, condition)
		must(t, w.Write(t.Context()))
		left.Delete(condition)
		if got := stored(t, admin, hcp); !conditionTypes(got).Equal(left) {
			t.Errorf("conditions %q, want %q", sets.List(conditionTypes(got)), sets.List(left))
		}
		if got := owners(t, admin, hcp); !slices.Equal(got, []string{controlplanestatus.Owner}) {
			t.Errorf("field owners of the status: %q", got)
		}
	}
}

func conditionTypes(hcp *hyperv1.HostedControlPlane) sets.Set[string] {
	all := sets.New[string]()
	for _, c := range hcp.Status.Conditions {
		all.Insert(c.Type)
	}
	return all
}

func stored(t *testing.T, admin client.Client, hcp *hyperv1.HostedControlPlane) *hyperv1.HostedControlPlane {
	t.Helper()
	now := &hyperv1.HostedControlPlane{}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(hcp), now))
	return now
}

// owners are the field owners of the status.
func owners(t *testing.T, admin client.Client, hcp *hyperv1.HostedControlPlane) (all []string) {
	t.Helper()
	for _, o := range stored(t, admin, hcp).ManagedFields {
		if o.Subresource == "status" {
			all = append(all, o.Manager)
		}
	}
	return all
}

func apiServer(t *testing.T) client.Client {
	t.Helper()
	fixture.Assets(t)
	crds, err := fixture.DefaultCRDs()
	must(t, err)
	f, err := fixture.Start(t.Context(), fixture.Options{CRDs: crds})
	must(t, err)
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	must(t, hyperv1.AddToScheme(scheme))
	must(t, corev1.AddToScheme(scheme))
	admin, err := client.New(f.Config, client.Options{Scheme: scheme})
	must(t, err)
	return admin
}

func controlPlane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage: "registry.example.com/release:1", InfraID: "demo-x", IssuerURL: "https://issuer.example.com/demo",
			PullSecret: corev1.LocalObjectReference{Name: "pull-secret"},
			Etcd:       hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage}}},
			Platform:   hyperv1.PlatformSpec{Type: hyperv1.NonePlatform},
			Networking: hyperv1.ClusterNetworking{
				NetworkType: hyperv1.Other, MachineNetwork: []hyperv1.MachineNetworkEntry{{CIDR: "10.0.0.0/16"}},
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}, ServiceNetwork: []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Services: []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
				Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.example.com"}}}},
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
