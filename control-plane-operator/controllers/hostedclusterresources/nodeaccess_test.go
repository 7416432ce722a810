package hostedclusterresources

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/nodeaccess"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

const (
	publicURL     = "https://api.demo.example.com:6443"
	privateURL    = "https://api.demo.hypershift.local:6443"
	publicTunnel  = "konnectivity.demo.example.com"
	privateTunnel = "konnectivity-server.apps.demo.hypershift.local"
)

// publishTunnels creates the Routes of both paths, as the hostedcontrolplane controller does while the mode changes.
func (w *testEnv) publishTunnels() {
	w.t.Helper()
	internal := route(privateTunnel)
	internal.Name += "-internal"
	internal.Labels = map[string]string{hyperv1.InternalRouteLabel: "true"}
	w.Create(w.t, internal)
}

// setAccess changes the access mode. served is the mode that the hostedcontrolplane controller has recorded.
func (w *testEnv) setAccess(mode, served hyperv1.AWSEndpointAccessType) {
	w.t.Helper()
	w.update(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
	w.serve(served)
}

func (w *testEnv) serve(mode hyperv1.AWSEndpointAccessType) {
	w.t.Helper()
	w.status(func(s *hyperv1.HostedControlPlaneStatus) { s.ServedEndpointAccess = mode })
}

// machine creates a Machine with a node that uses a URL. The node makes no report if url is empty; there is no node if node is empty.
func (w *testEnv) machine(name, node, url string) *clusterv1.Machine {
	w.t.Helper()
	m := requesttest.Joined(requesttest.Waiting(name, name, node), node)
	w.must(w.Admin().Create(w.t.Context(), m))
	if node != "" {
		w.join(node)
		w.use(node, url)
	}
	return m
}

// use simulates the timer of a node.
func (w *testEnv) use(name, url string) {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.hosted.Admin().Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	if node.Annotations = nil; url != "" {
		node.Annotations = map[string]string{names.ServerAnnotation: url}
	}
	w.must(w.hosted.Admin().Update(w.t.Context(), node))
}

// rollOut simulates kubelets that replace the pods of the tunnels.
func (w *testEnv) rollOut(nodes, replaced int32) {
	w.t.Helper()
	ds := &appsv1.DaemonSet{}
	if !w.inside("kube-system", "konnectivity-agent", ds) {
		w.t.Fatal("there are no tunnels")
	}
	ds.Status = appsv1.DaemonSetStatus{ObservedGeneration: ds.Generation, DesiredNumberScheduled: nodes, UpdatedNumberScheduled: replaced, NumberAvailable: nodes}
	w.must(w.hosted.Admin().Status().Update(w.t.Context(), ds))
}

// expectAccess reconciles, and compares the record and the address of the tunnels.
func (w *testEnv) expectAccess(inUse hyperv1.AWSEndpointAccessType, tunnel, condition string) {
	w.t.Helper()
	w.reconcileOnce()
	hcp := w.hcp(w.t.Context())
	if n := hcp.Status.NodeAccess; n == nil || n.InUse != inUse || n.ObservedGeneration != hcp.Generation {
		w.t.Errorf("recorded %+v for generation %d, want %s", n, hcp.Generation, inUse)
	}
	ds := &appsv1.DaemonSet{}
	if !w.inside("kube-system", "konnectivity-agent", ds) || !slices.Contains(ds.Spec.Template.Spec.Containers[0].Args, "--proxy-server-host="+tunnel) {
		w.t.Errorf("the tunnels lead to %v, not to %s", ds.Spec.Template.Spec.Containers, tunnel)
	}
	w.expectCondition(hyperv1.EndpointAccessUpToDate, condition)
}

const behind = "False MachinesBehind: the former address of the API server is served until all machines use "

func TestAFormerPathIsKeptUntilMachinesAndTunnelsHaveLeftIt(t *testing.T) {
	w := newTestEnv(t)
	w.serve(hyperv1.Public)
	w.reconcileAll()
	w.machine("a", "node-a", publicURL)
	w.machine("b", "node-b", publicURL)
	w.expectAccess(hyperv1.Public, publicTunnel, succeeded)

	w.publishTunnels()
	w.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines a, b")
	if w.next > nodeaccess.NodesInterval {
		t.Errorf("checks the nodes again after %s", w.next)
	}
	w.use("node-a", privateURL)
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines b")
	w.use("node-b", "")
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines b (has not reported its address)")
	w.use("node-b", privateURL)
	const tunnels = "False TunnelsBehind: all machines use " + privateURL + "; waiting for the pods of DaemonSet konnectivity-agent"
	w.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, tunnels)
	w.rollOut(2, 1)
	w.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, tunnels+", of which 1 of 2 are replaced")
	w.rollOut(2, 2)
	w.expectAccess(hyperv1.Private, privateTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
	w.serve(hyperv1.Private)
	w.expectAccess(hyperv1.Private, privateTunnel, succeeded)
	w.expectCondition(resourcesCondition, succeeded)
}

// The public path stays in PublicAndPrivate, but nodes use the endpoint.
func TestNodesOfAPublicClusterFollowToItsEndpoint(t *testing.T) {
	w := newTestEnv(t)
	w.serve(hyperv1.Public)
	w.reconcileAll()
	w.machine("a", "node-a", publicURL)
	w.publishTunnels()
	w.setAccess(hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate)
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines a")
	// Back before the node has followed.
	w.setAccess(hyperv1.Public, hyperv1.PublicAndPrivate)
	w.rollOut(1, 1)
	w.expectAccess(hyperv1.Public, publicTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
	w.serve(hyperv1.Public)
	w.expectAccess(hyperv1.Public, publicTunnel, succeeded)
}

// A machine that is off may return. A new one may have been started with the former address.
func TestMachinesThatAreOffOrHaveNotJoinedKeepTheFormerPath(t *testing.T) {
	w := newTestEnv(t)
	w.serve(hyperv1.Public)
	w.reconcileAll()
	off := w.machine("off", "node-off", publicURL)
	starting := w.machine("starting", "", "")
	w.machine("on", "node-on", privateURL)
	w.publishTunnels()
	w.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off, starting (is no node)")
	w.clock.Step(24 * time.Hour)
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off, starting (is no node)")
	w.must(w.Admin().Delete(t.Context(), starting))
	w.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off")
	w.must(w.Admin().Delete(t.Context(), off))
	w.reconcileOnce()
	w.rollOut(1, 1)
	w.expectAccess(hyperv1.Private, privateTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
}

// An API server that does not respond is no reason to keep a path that no machine can use.
func TestAClusterWithoutMachinesChangesAtOnce(t *testing.T) {
	w := newTestEnv(t)
	w.setAPIAvailable(metav1.ConditionFalse)
	w.serve(hyperv1.Public)
	w.reconcileOnce()
	w.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	w.reconcileOnce()
	if n := w.hcp(t.Context()).Status.NodeAccess; n == nil || n.InUse != hyperv1.Private {
		t.Errorf("recorded %+v", n)
	}
}

func TestAnUnreachableAPIServerKeepsTheFormerPath(t *testing.T) {
	w := newTestEnv(t)
	w.serve(hyperv1.Public)
	w.reconcileAll()
	w.machine("a", "node-a", publicURL)
	w.setAPIAvailable(metav1.ConditionFalse)
	w.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	w.reconcileOnce()
	if n := w.hcp(t.Context()).Status.NodeAccess; n.ObservedGeneration == w.hcp(t.Context()).Generation {
		t.Errorf("recorded %+v without an answer", n)
	}
	w.expectCondition(hyperv1.EndpointAccessUpToDate, "False MachinesBehind: waiting for the hosted API server, which knows the addresses that machines use")
}

// The load balancer of a cluster that becomes public has no name at first.
func TestNodesWaitForTheNewAddress(t *testing.T) {
	w := newTestEnv(t)
	w.must(w.Admin().Delete(t.Context(), &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KonnectivityServer}}))
	w.publishTunnels()
	w.endpoint.Host = "api.demo.hypershift.local"
	w.update(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	w.serve(hyperv1.Private)
	w.reconcileAll()
	w.machine("a", "node-a", privateURL)
	w.setAccess(hyperv1.Public, hyperv1.PublicAndPrivate)
	w.Create(t, route(publicTunnel))
	w.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, "False MachinesBehind: waiting for the new address of the API server; see InfrastructureReady")
	w.endpoint.Host = "api.demo.example.com"
	w.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, behind+publicURL+"; waiting for machines a")
}

// An operator of an earlier version has recorded no path, and its nodes make no report: their mode has not changed.
func TestAnUpgradeOfTheOperatorWaitsForNoMachine(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.machine("a", "node-a", "")
	w.expectAccess(hyperv1.Public, publicTunnel, succeeded)
}

func TestNodesGetASignedAddress(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	if got := w.authorities(); got[names.ServerURL] != "" {
		t.Errorf("an address that is not signed: %v", got)
	}
	w.setTurn(names.RootCA, pki.Introduced)
	for mode, want := range map[hyperv1.AWSEndpointAccessType]string{hyperv1.Private: privateURL, hyperv1.Public: publicURL, hyperv1.PublicAndPrivate: privateURL} {
		w.setAccess(mode, hyperv1.PublicAndPrivate)
		w.reconcileOnce()
		data := w.authorities()
		if data[names.ServerURL] != want {
			t.Errorf("%s: nodes use %q, not %q", mode, data[names.ServerURL], want)
		}
		s := secret(names.RootCA, "", nil)
		w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(s), s))
		signer, err := pki.DecodeSigner(s.Data)
		w.must(err)
		signature, err := base64.StdEncoding.DecodeString(data[names.ServerURLSignature])
		w.must(err)
		digest := sha256.Sum256([]byte(names.SignedServer(want)))
		if !ecdsa.VerifyASN1(signer.Current.Certificate.PublicKey.(*ecdsa.PublicKey), digest[:], signature) {
			t.Errorf("%s: the signature is not that of the authority that signs", mode)
		}
	}
}

// These pods must not lose the API server when the path of their node changes.
func TestPodsOfNodesDoNotDependOnTheAccessMode(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
		w.setAccess(mode, hyperv1.PublicAndPrivate)
		w.reconcileOnce()
		ds := &appsv1.DaemonSet{}
		if !w.inside("kube-system", "kube-proxy", ds) || !slices.Contains(ds.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "172.20.0.1"}) {
			t.Errorf("%s: kube-proxy uses %v", mode, ds.Spec.Template.Spec.Containers[0].Env)
		}
	}
}
