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
func (e *hostedCluster) publishTunnels() {
	e.T.Helper()
	internal := route(privateTunnel)
	internal.Name += "-internal"
	internal.Labels = map[string]string{hyperv1.InternalRouteLabel: "true"}
	e.Create(internal)
}

// setAccess changes the access mode. served is the mode that the hostedcontrolplane controller has recorded.
func (e *hostedCluster) setAccess(mode, served hyperv1.AWSEndpointAccessType) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = mode })
	e.serve(served)
}

func (e *hostedCluster) serve(mode hyperv1.AWSEndpointAccessType) {
	e.T.Helper()
	e.status(func(s *hyperv1.HostedControlPlaneStatus) { s.ServedEndpointAccess = mode })
}

// machine creates a Machine with a node that uses a URL. The node makes no report if url is empty; there is no node if node is empty.
func (e *hostedCluster) machine(name, node, url string) *clusterv1.Machine {
	e.T.Helper()
	m := requesttest.Joined(requesttest.Waiting(name, name, node), node)
	e.Must(e.Admin().Create(e.T.Context(), m))
	if node != "" {
		e.join(node)
		e.use(node, url)
	}
	return m
}

// use simulates the timer of a node.
func (e *hostedCluster) use(name, url string) {
	e.T.Helper()
	node := &corev1.Node{}
	e.Must(e.hosted.Admin().Get(e.T.Context(), client.ObjectKey{Name: name}, node))
	if node.Annotations = nil; url != "" {
		node.Annotations = map[string]string{names.ServerAnnotation: url}
	}
	e.hosted.Update(node)
}

// rollOut simulates kubelets that replace the pods of the tunnels.
func (e *hostedCluster) rollOut(nodes, replaced int32) {
	e.T.Helper()
	ds := &appsv1.DaemonSet{}
	if !e.inside("kube-system", "konnectivity-agent", ds) {
		e.T.Fatal("there are no tunnels")
	}
	ds.Status = appsv1.DaemonSetStatus{ObservedGeneration: ds.Generation, DesiredNumberScheduled: nodes, UpdatedNumberScheduled: replaced, NumberAvailable: nodes}
	e.hosted.UpdateStatus(ds)
}

// expectAccess reconciles, and compares the record and the address of the tunnels.
func (e *hostedCluster) expectAccess(inUse hyperv1.AWSEndpointAccessType, tunnel, condition string) {
	e.T.Helper()
	e.Once()
	hcp := e.hcp()
	if n := hcp.Status.NodeAccess; n == nil || n.InUse != inUse || n.ObservedGeneration != hcp.Generation {
		e.T.Errorf("recorded %+v for generation %d, want %s", n, hcp.Generation, inUse)
	}
	ds := &appsv1.DaemonSet{}
	if !e.inside("kube-system", "konnectivity-agent", ds) || !slices.Contains(ds.Spec.Template.Spec.Containers[0].Args, "--proxy-server-host="+tunnel) {
		e.T.Errorf("the tunnels lead to %v, not to %s", ds.Spec.Template.Spec.Containers, tunnel)
	}
	e.ExpectConditionText(hyperv1.EndpointAccessUpToDate, condition)
}

const behind = "False MachinesBehind: the former address of the API server is served until all machines use "

func TestAFormerPathIsKeptUntilMachinesAndTunnelsHaveLeftIt(t *testing.T) {
	e := newHostedCluster(t)
	e.serve(hyperv1.Public)
	e.reconcileAll()
	e.machine("a", "node-a", publicURL)
	e.machine("b", "node-b", publicURL)
	e.expectAccess(hyperv1.Public, publicTunnel, succeeded)

	e.publishTunnels()
	e.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines a, b")
	if e.RequeueAfter > nodeaccess.NodesInterval {
		t.Errorf("checks the nodes again after %s", e.RequeueAfter)
	}
	e.use("node-a", privateURL)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines b")
	e.use("node-b", "")
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines b (has not reported its address)")
	e.use("node-b", privateURL)
	const tunnels = "False TunnelsBehind: all machines use " + privateURL + "; waiting for the pods of DaemonSet konnectivity-agent"
	e.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, tunnels)
	e.rollOut(2, 1)
	e.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, tunnels+", of which 1 of 2 are replaced")
	e.rollOut(2, 2)
	e.expectAccess(hyperv1.Private, privateTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
	e.serve(hyperv1.Private)
	e.expectAccess(hyperv1.Private, privateTunnel, succeeded)
	e.ExpectConditionText(resourcesCondition, succeeded)
}

// The public path stays in PublicAndPrivate, but nodes use the endpoint.
func TestNodesOfAPublicClusterFollowToItsEndpoint(t *testing.T) {
	e := newHostedCluster(t)
	e.serve(hyperv1.Public)
	e.reconcileAll()
	e.machine("a", "node-a", publicURL)
	e.publishTunnels()
	e.setAccess(hyperv1.PublicAndPrivate, hyperv1.PublicAndPrivate)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines a")
	// Back before the node has followed.
	e.setAccess(hyperv1.Public, hyperv1.PublicAndPrivate)
	e.rollOut(1, 1)
	e.expectAccess(hyperv1.Public, publicTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
	e.serve(hyperv1.Public)
	e.expectAccess(hyperv1.Public, publicTunnel, succeeded)
}

// A machine that is off may return. A new one may have been started with the former address.
func TestMachinesThatAreOffOrHaveNotJoinedKeepTheFormerPath(t *testing.T) {
	e := newHostedCluster(t)
	e.serve(hyperv1.Public)
	e.reconcileAll()
	off := e.machine("off", "node-off", publicURL)
	starting := e.machine("starting", "", "")
	e.machine("on", "node-on", privateURL)
	e.publishTunnels()
	e.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off, starting (is no node)")
	e.Clock.Step(24 * time.Hour)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off, starting (is no node)")
	e.Delete(starting)
	e.expectAccess(hyperv1.PublicAndPrivate, publicTunnel, behind+privateURL+"; waiting for machines off")
	e.Delete(off)
	e.Once()
	e.rollOut(1, 1)
	e.expectAccess(hyperv1.Private, privateTunnel, "False RemovingFormerAccess: no machine uses the former address of the API server, which is being removed")
}

// An API server that does not respond is no reason to keep a path that no machine can use.
func TestAClusterWithoutMachinesChangesAtOnce(t *testing.T) {
	e := newHostedCluster(t)
	e.setAPIAvailable(metav1.ConditionFalse)
	e.serve(hyperv1.Public)
	e.Once()
	e.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	e.Once()
	if n := e.hcp().Status.NodeAccess; n == nil || n.InUse != hyperv1.Private {
		t.Errorf("recorded %+v", n)
	}
}

func TestAnUnreachableAPIServerKeepsTheFormerPath(t *testing.T) {
	e := newHostedCluster(t)
	e.serve(hyperv1.Public)
	e.reconcileAll()
	e.machine("a", "node-a", publicURL)
	e.setAPIAvailable(metav1.ConditionFalse)
	e.setAccess(hyperv1.Private, hyperv1.PublicAndPrivate)
	e.Once()
	if n := e.hcp().Status.NodeAccess; n.ObservedGeneration == e.hcp().Generation {
		t.Errorf("recorded %+v without an answer", n)
	}
	e.ExpectConditionText(hyperv1.EndpointAccessUpToDate, "False MachinesBehind: waiting for the hosted API server, which knows the addresses that machines use")
}

// The load balancer of a cluster that becomes public has no name at first.
func TestNodesWaitForTheNewAddress(t *testing.T) {
	e := newHostedCluster(t)
	e.Delete(&routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.KonnectivityServer}})
	e.publishTunnels()
	e.endpoint.Host = "api.demo.hypershift.local"
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Private })
	e.serve(hyperv1.Private)
	e.reconcileAll()
	e.machine("a", "node-a", privateURL)
	e.setAccess(hyperv1.Public, hyperv1.PublicAndPrivate)
	e.Create(route(publicTunnel))
	e.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, "False MachinesBehind: waiting for the new address of the API server; see InfrastructureReady")
	e.endpoint.Host = "api.demo.example.com"
	e.expectAccess(hyperv1.PublicAndPrivate, privateTunnel, behind+publicURL+"; waiting for machines a")
}

// An operator of an earlier version has recorded no path, and its nodes make no report: their mode has not changed.
func TestAnUpgradeOfTheOperatorWaitsForNoMachine(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.machine("a", "node-a", "")
	e.expectAccess(hyperv1.Public, publicTunnel, succeeded)
}

func TestNodesGetASignedAddress(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	if got := e.authorities(); got[names.ServerURL] != "" {
		t.Errorf("an address that is not signed: %v", got)
	}
	e.setTurn(names.RootCA, pki.Introduced)
	for mode, want := range map[hyperv1.AWSEndpointAccessType]string{hyperv1.Private: privateURL, hyperv1.Public: publicURL, hyperv1.PublicAndPrivate: privateURL} {
		e.setAccess(mode, hyperv1.PublicAndPrivate)
		e.Once()
		data := e.authorities()
		if data[names.ServerURL] != want {
			t.Errorf("%s: nodes use %q, not %q", mode, data[names.ServerURL], want)
		}
		s := secret(names.RootCA, "", nil)
		e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(s), s))
		signer, err := pki.DecodeSigner(s.Data)
		e.Must(err)
		signature, err := base64.StdEncoding.DecodeString(data[names.ServerURLSignature])
		e.Must(err)
		digest := sha256.Sum256([]byte(names.SignedServer(want)))
		if !ecdsa.VerifyASN1(signer.Current.Certificate.PublicKey.(*ecdsa.PublicKey), digest[:], signature) {
			t.Errorf("%s: the signature is not that of the authority that signs", mode)
		}
	}
}

// These pods must not lose the API server when the path of their node changes.
func TestPodsOfNodesDoNotDependOnTheAccessMode(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	for _, mode := range []hyperv1.AWSEndpointAccessType{hyperv1.Public, hyperv1.Private} {
		e.setAccess(mode, hyperv1.PublicAndPrivate)
		e.Once()
		ds := &appsv1.DaemonSet{}
		if !e.inside("kube-system", "kube-proxy", ds) || !slices.Contains(ds.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "172.20.0.1"}) {
			t.Errorf("%s: kube-proxy uses %v", mode, ds.Spec.Template.Spec.Containers[0].Env)
		}
	}
}
