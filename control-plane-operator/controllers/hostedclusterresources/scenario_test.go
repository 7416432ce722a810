package hostedclusterresources

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
)

const (
	resourcesCondition = hyperv1.ConfigOperatorReconciliationSucceeded
	succeeded          = "True AsExpected: All is well"
)

func TestHostedClusterIsSetUp(t *testing.T) {
	e := newHostedCluster(t)
	e.setAPIAvailable(metav1.ConditionFalse)
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False WaitingForKubeAPIServer: waiting for the hosted API server; see KubeAPIServerAvailable for the reason")

	e.setAPIAvailable(metav1.ConditionTrue)
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False WaitingForPermissions: waiting until the new permissions take effect")
	e.reconcileAll()
	e.ExpectConditionText(resourcesCondition, succeeded)
	if n := e.hcp().Status.NodeCount; n == nil || *n != 0 {
		t.Errorf("nodes: %v", n)
	}

	slice := &discoveryv1.EndpointSlice{}
	if !e.inside("default", "kubernetes", slice) || slice.Endpoints[0].Addresses[0] != "172.20.0.1" || *slice.Ports[0].Port != 6443 {
		t.Errorf("pods find the API server at %+v", slice)
	}
	dns := &corev1.Service{}
	if !e.inside("kube-system", "kube-dns", dns) || dns.Spec.ClusterIP != "172.31.0.10" {
		t.Errorf("DNS is at %s", dns.Spec.ClusterIP)
	}
	proxy := &appsv1.DaemonSet{}
	if !e.inside("kube-system", "kube-proxy", proxy) || proxy.Spec.Template.Spec.Containers[0].Image != "registry/kube-proxy:1.35.4" {
		t.Errorf("kube-proxy: %+v", proxy.Spec.Template.Spec.Containers)
	}
	agent := &appsv1.DaemonSet{}
	if !e.inside("kube-system", "konnectivity-agent", agent) || !slices.Contains(agent.Spec.Template.Spec.Containers[0].Args, "--proxy-server-host=konnectivity.demo.example.com") {
		t.Errorf("the tunnels lead to %v", agent.Spec.Template.Spec.Containers)
	}
	info := &corev1.ConfigMap{}
	if !e.inside("kube-public", "cluster-info", info) || !strings.Contains(info.Data["kubeconfig"], "https://api.demo.example.com:6443") {
		t.Errorf("cluster-info: %v", info.Data)
	}
}

// Permissions are written with a short-lived certificate, and everything else by the operator's identity, which cannot
// grant permissions.
func TestOnlyTheTemporaryIdentityWritesPermissions(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	byOperator := 0
	for _, line := range e.written {
		who, _, _ := strings.Cut(line, " ")
		rbac := strings.Contains(line, "Role") || strings.Contains(line, "Admission")
		switch {
		case who == "hypershift:permissions" && !rbac:
			t.Errorf("with more power than it needs: %s", line)
		case who == names.ControlPlaneOperatorUser && !rbac:
			byOperator++
		}
	}
	if byOperator == 0 {
		t.Error("the operator wrote nothing itself")
	}
}

func TestTokensFollowTheManagementCluster(t *testing.T) {
	e := newHostedCluster(t)
	e.Create(e.token("abcdef"), e.token("ghijkl"))
	e.reconcileAll()
	for _, id := range []string{"abcdef", "ghijkl"} {
		if !e.inside("kube-system", "bootstrap-token-"+id, &corev1.Secret{}) {
			t.Errorf("token %s is not there", id)
		}
	}
	e.Delete(secret("token-abcdef", "", nil))
	e.Once() // the watch of Secrets triggers a reconcile
	if e.inside("kube-system", "bootstrap-token-abcdef", &corev1.Secret{}) {
		t.Error("a token that was taken back still lets somebody in")
	}
	e.Clock.Step(31 * time.Minute)
	e.reconcileAll()
	if e.inside("kube-system", "bootstrap-token-ghijkl", &corev1.Secret{}) {
		t.Error("a token that has ended is still there")
	}
}

func TestInvalidTokensAreNotCopied(t *testing.T) {
	e := newHostedCluster(t)
	odd, other, endless := e.token("../../x"), e.token("mnopqr"), e.token("stuvwx")
	odd.Name, other.Labels = "odd", nil
	delete(endless.Data, "expiration")
	e.Create(odd, other, endless)
	e.reconcileAll()
	list := &corev1.SecretList{}
	e.Must(e.hosted.Admin().List(t.Context(), list))
	for _, s := range list.Items {
		if s.Type == corev1.SecretTypeBootstrapToken {
			t.Errorf("there is %s", s.Name)
		}
	}
}

// Without drift there is no write.
func TestDriftIsRepaired(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	writes := e.Calls.Writes()
	e.reconcileLater()
	if got := e.Calls.Log(writes); len(got) > 0 {
		t.Errorf("wrote at rest: %v", got)
	}
	e.hosted.Delete(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}})
	e.reconcileLater()
	if !e.inside("kube-system", "coredns", &appsv1.Deployment{}) {
		t.Error("DNS did not come back")
	}
}

// The first Forbidden error invalidates the observed permissions.
func TestRemovedPermissionsAreRestored(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.hosted.Delete(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: names.ControlPlaneOperatorGroup}})
	if err := e.Try(); err == nil {
		t.Fatal("was not refused")
	}
	e.reconcileAll()
	e.ExpectConditionText(resourcesCondition, succeeded)
}

// Without the key of the authority, users bring the certificates and must grant the permissions.
func TestMissingAuthorityKeyIsReported(t *testing.T) {
	e := newHostedCluster(t)
	e.Delete(secret(names.ClientSigner, "", nil))
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False PermissionsMissing: the identity in Secret control-plane-operator-kubeconfig lacks permissions in the hosted cluster, and Secret client-signer, which is needed to grant them, does not exist")
}

func TestUpgradeReachesTheNodesLast(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	history := func(states ...configv1.UpdateHistory) {
		e.status(func(s *hyperv1.HostedControlPlaneStatus) {
			s.VersionStatus = &hyperv1.ClusterVersionStatus{History: states}
		})
	}
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ReleaseImage = newImage })
	history(configv1.UpdateHistory{State: configv1.PartialUpdate, Image: newImage}, configv1.UpdateHistory{State: configv1.CompletedUpdate, Image: oldImage})
	e.Once()
	e.ExpectConditionText(resourcesCondition, "False WaitingForRelease: waiting until the control plane runs release "+newImage)
	proxy := func() string {
		ds := &appsv1.DaemonSet{}
		e.inside("kube-system", "kube-proxy", ds)
		return ds.Spec.Template.Spec.Containers[0].Image
	}
	if got := proxy(); got != "registry/kube-proxy:1.35.4" {
		t.Errorf("kube-proxy is %s", got)
	}
	history(configv1.UpdateHistory{State: configv1.CompletedUpdate, Image: newImage})
	e.reconcileAll()
	if got := proxy(); got != "registry/kube-proxy:1.36.3" {
		t.Errorf("kube-proxy is %s", got)
	}
}

func TestPartsWithoutAnImageAreDeleted(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.releases.Put(&release.Release{Image: oldImage, Version: "1.35.4", Components: map[string]string{"coredns": "registry/coredns:1"}})
	e.reconcileAll()
	if e.inside("kube-system", "kube-proxy", &appsv1.DaemonSet{}) || e.inside("kube-system", "konnectivity-agent", &corev1.Secret{}) {
		t.Error("what has no image is still there")
	}
	if !e.inside("kube-system", "coredns", &appsv1.Deployment{}) {
		t.Error("DNS went, too")
	}
}

func TestUnpublishedTunnelsHaveNoAgents(t *testing.T) {
	e := newHostedCluster(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Services = nil })
	e.Delete(route(""))
	e.reconcileAll()
	e.ExpectConditionText(resourcesCondition, succeeded)
	if e.inside("kube-system", "konnectivity-agent", &appsv1.DaemonSet{}) {
		t.Error("agents that find nobody")
	}
}

func TestFailedPartDoesNotBlockOtherParts(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*hostedCluster)
		want  string
	}{
		"no certificate for the tunnels": {
			spoil: func(e *hostedCluster) {
				e.Delete(secret(names.KonnectivityAgentCertificate, "", nil))
			},
			want: "False WaitingForCertificate: waiting for Secret konnectivity-agent-tls with the certificate of the tunnels",
		},
		"no host for the tunnels": {
			spoil: func(e *hostedCluster) { e.Must(e.Admin().Delete(e.T.Context(), route(""))) },
			want:  "False WaitingForEndpoint: waiting for the address of konnectivity-server for nodes",
		},
		"a registry that does not answer": {
			spoil: func(e *hostedCluster) { e.releases.Fail(oldImage, release.Unreachable, "it is silent") },
			want:  "False WaitingFor: waiting for the release of the pods on nodes: release image " + oldImage + " could not be read: it is silent",
		},
		"a user's object where ours should be": {
			spoil: func(e *hostedCluster) {
				e.Must(e.hosted.Admin().Create(e.T.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}))
			},
			want: `False NameTaken: ConfigMap "coredns" exists and belongs to an unknown owner; delete or rename it`,
		},
		"too few addresses for Services": {
			spoil: func(e *hostedCluster) {
				e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Networking.ServiceNetwork[0].CIDR = "172.31.0.0/29" })
			},
			want: "False InvalidNetwork: spec.networking.serviceNetwork: 172.31.0.0/29 has no room for the DNS address, which is the tenth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newHostedCluster(t)
			c.spoil(e)
			e.Once()
			e.Once()
			e.ExpectConditionText(resourcesCondition, c.want)
			if !e.inside("kube-public", "cluster-info", &corev1.ConfigMap{}) {
				t.Error("cluster-info waits, too")
			}
		})
	}
}

// An API server that does not respond, before the condition reports it, must not change the other conditions.
func TestUnreachableAPIServerKeepsTheConditions(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.unreachable = true
	e.Clock.Step(interval)
	if err := e.Try(); err == nil {
		t.Fatal("nobody noticed")
	}
	e.ExpectConditionText(resourcesCondition, succeeded)
}

func TestDualStackCluster(t *testing.T) {
	e := newHostedCluster(t)
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Networking.ServiceNetwork = []hyperv1.ServiceNetworkEntry{{CIDR: "172.31.0.0/16"}, {CIDR: "fd02::/112"}}
		hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: ptr.To("172.20.0.9"), Port: ptr.To[int32](7443)}
	})
	e.reconcileAll()
	dns := &corev1.Service{}
	if e.inside("kube-system", "kube-dns", dns); !slices.Equal(dns.Spec.ClusterIPs, []string{"172.31.0.10", "fd02::a"}) {
		t.Errorf("DNS is at %v", dns.Spec.ClusterIPs)
	}
	slice := &discoveryv1.EndpointSlice{}
	if e.inside("default", "kubernetes", slice); slice.Endpoints[0].Addresses[0] != "172.20.0.9" || *slice.Ports[0].Port != 7443 {
		t.Errorf("the API server is at %+v", slice)
	}
}

// Nodes may be in a network that has only mirrors.
func TestPayloadIsPulledFromItsMirror(t *testing.T) {
	e := newHostedCluster(t)
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	e.releases.Put(&release.Release{Image: "mirror.example.com/release" + digest, Version: "1.36.3", Components: map[string]string{"kube-proxy": "proxy"}})
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.ReleaseImage = "away.example.com/release" + digest
		hcp.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "away.example.com/release", Mirrors: []string{"mirror.example.com/release"}}}
	})
	e.reconcileAll()
	proxy := &appsv1.DaemonSet{}
	if e.inside("kube-system", "kube-proxy", proxy); proxy.Spec.Template.Spec.Containers[0].Image != "proxy" {
		t.Errorf("the image of kube-proxy is %s", proxy.Spec.Template.Spec.Containers[0].Image)
	}
}

func scenario(t testing.TB) *crashtest.Scenario {
	e := newHostedCluster(t)
	e.Create(e.token("abcdef"))
	return e.scenario()
}

func (e *hostedCluster) scenario() *crashtest.Scenario {
	s := e.Scenario()
	s.Cloud = func() string {
		text, err := e.hosted.Snapshot(context.Background())
		e.Must(err)
		return text
	}
	s.Ready = func(context.Context) string {
		if got := e.ConditionText(resourcesCondition); got != succeeded {
			return got
		}
		return ""
	}
	s.Mask = mask // certificates and their hashes differ between runs
	return s
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Parallel()
	crashtest.CrashConsistency(t, scenario)
}

// The hosted cluster is deleted with its control plane, so leaks are possible only in the control plane.
func TestCrashConsistencyUnderFaults(t *testing.T) {
	t.Parallel()
	crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario {
		s := scenario(t)
		s.Cloud = nil
		return s
	})
}

var random = regexp.MustCompile(`(?m)(hypershift.openshift.io/(applied|contents): |certificate-authority-data: |revision: ).*$|()^    [\w+/=]{1,64}$`)

// mask also sorts objects independently of the masked parts.
func mask(text string) string {
	objects := strings.Split(random.ReplaceAllString(text, "$1..."), "---\n")
	slices.Sort(objects)
	return strings.Join(objects, "---\n")
}
