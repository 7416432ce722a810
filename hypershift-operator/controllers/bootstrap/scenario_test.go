package bootstrap

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// started returns a test environment in which Cluster API has set the owner of the NodeBootstrap, after one pass of the controller.
func started(t *testing.T) (*testEnv, func(context.Context) error) {
	t.Helper()
	w := newTestEnv(t)
	pass := w.start()
	w.others(t)
	w.pass(t, pass)
	return w, pass
}

func (w *testEnv) others(t *testing.T) {
	t.Helper()
	if err := w.clusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *testEnv) pass(t *testing.T, pass func(context.Context) error) {
	t.Helper()
	if err := pass(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// change changes an object as somebody else.
func change[T client.Object](t *testing.T, w *testEnv, name string, obj T, do func(T)) {
	t.Helper()
	w.mustGet(t, name, obj)
	do(obj)
	if err := w.Admin().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func TestAMachineGetsWhatItNeedsToJoin(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.others(t)
	w.pass(t, pass)
	w.expectMachineThatCanJoin(t)
}

func (w *testEnv) expectMachineThatCanJoin(t *testing.T) {
	t.Helper()
	nb := &hyperv1.NodeBootstrap{}
	w.mustGet(t, machineName, nb)
	if nb.Status.DataSecretName != "user-data-"+machineName || nb.Status.Initialization.DataSecretCreated == nil || !*nb.Status.Initialization.DataSecretCreated {
		t.Errorf("Cluster API would wait: %+v", nb.Status)
	}
	data := &corev1.Secret{}
	w.mustGet(t, nb.Status.DataSecretName, data)
	if data.Labels[clusterv1.ClusterNameLabel] != infraID || string(data.Data["format"]) != "ignition" || !metav1.IsControlledBy(data, nb) {
		t.Errorf("the Secret is not what the contract asks for: %+v", data.ObjectMeta)
	}

	node, tokens := w.userData(t), w.tokens(t)
	if node.Server != "https://api.demo.hypershift.local:6443" || string(node.CA) != "root\n" {
		t.Errorf("joins %s by %q", node.Server, node.CA)
	}
	if node.Token != tokens["token-"+machineName+"-1"] {
		t.Errorf("joins with %s, and there are %v", node.Token, tokens)
	}
	if diff := cmp.Diff(map[string]string{"tier": "front", hyperv1.NodePoolLabel: "workers"}, node.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(node.Taints) != 2 || node.Taints[0].Key != "dedicated" {
		t.Errorf("taints: %v", node.Taints)
	}
	if diff := cmp.Diff([]string{"ssh-ed25519 AAAA me"}, node.SSHKeys["core"]); diff != "" {
		t.Errorf("ssh keys (-want +got):\n%s", diff)
	}
	if kubelet := node.Files["/etc/kubernetes/kubelet.yaml"]; !strings.Contains(kubelet, "maxPods: 110") || !strings.Contains(kubelet, "clusterDNS:\n- 172.31.0.10\n- fd03::a\n") {
		t.Errorf("configuration of the kubelet:\n%s", kubelet)
	}
	want := `NO_PROXY="localhost,127.0.0.1,169.254.169.254,.svc,.cluster.local,.hypershift.local,.internal,10.0.0.0/16,10.132.0.0/14,172.31.0.0/16,fd03::/112,example.com"`
	if env := node.Files["/etc/kubernetes/environment"]; !strings.Contains(env, want) || !strings.Contains(env, `HTTPS_PROXY="http://proxy:3128"`) {
		t.Errorf("environment:\n%s", env)
	}
	if got := node.Files["/etc/kubernetes/trust/additional.crt"]; got != "more\n" {
		t.Errorf("trust bundle: %q", got)
	}
}

func TestUserDataHasTheStoredSettingsAndNoOthers(t *testing.T) {
	w := newTestEnv(t)
	change(t, w, "demo", &hyperv1.HostedControlPlane{}, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration.Proxy.HTTPSProxy = "http://later:3128" // the NodePool controller has not stored it yet
	})
	w.others(t)
	w.pass(t, w.start())
	if env := w.userData(t).Files["/etc/kubernetes/environment"]; !strings.Contains(env, `HTTPS_PROXY="http://proxy:3128"`) {
		t.Errorf("environment:\n%s", env)
	}
}

func TestATokenSecretHasTheFormatOfTheHostedCluster(t *testing.T) {
	w, _ := started(t)
	s := &corev1.Secret{}
	w.mustGet(t, "token-"+machineName+"-1", s)
	ends, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	if err != nil || ends.Sub(w.clock.Now()) > 30*time.Minute || ends.Sub(w.clock.Now()) < 29*time.Minute {
		t.Errorf("ends %s (%v)", s.Data["expiration"], err)
	}
	if s.Type != corev1.SecretTypeBootstrapToken || len(s.Data["token-id"]) != 6 || len(s.Data["token-secret"]) != 16 {
		t.Errorf("type %s, id %q, secret of %d", s.Type, s.Data["token-id"], len(s.Data["token-secret"]))
	}
	if string(s.Data["usage-bootstrap-authentication"]) != "true" || string(s.Data["auth-extra-groups"]) != "system:bootstrappers:workers" {
		t.Errorf("authenticates: %q, groups %q", s.Data["usage-bootstrap-authentication"], s.Data["auth-extra-groups"])
	}
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	w, pass := started(t)
	first := w.userData(t).Token
	if after := w.answer.RequeueAfter; after <= 14*time.Minute || after > 15*time.Minute {
		t.Errorf("comes back after %s", after)
	}

	w.clock.Step(14 * time.Minute)
	w.pass(t, pass)
	if len(w.tokens(t)) != 1 || w.userData(t).Token != first {
		t.Errorf("a fresh token was renewed: %v", w.tokens(t))
	}
	w.clock.Step(time.Minute)
	w.pass(t, pass)
	second, tokens := w.userData(t).Token, slices.Sorted(maps.Values(w.tokens(t)))
	if second == first || !slices.Contains(tokens, first) || !slices.Contains(tokens, second) {
		t.Errorf("an instance that starts now joins with %s, one that has just started with %s, and there are %v", second, first, tokens)
	}
	w.pass(t, pass)
	if w.userData(t).Token != second {
		t.Errorf("went back to %s, of %v", w.userData(t).Token, tokens)
	}
	w.clock.Step(15 * time.Minute)
	w.pass(t, pass)
	if slices.Contains(slices.Collect(maps.Values(w.tokens(t))), first) || len(w.tokens(t)) != 2 {
		t.Errorf("what has ended is still there: %v", w.tokens(t))
	}
}

func TestTokenAndUserDataAreRemovedOnceTheMachineHasJoined(t *testing.T) {
	w, pass := started(t)
	w.joins = true
	w.others(t)
	w.pass(t, pass)
	if tokens := w.tokens(t); len(tokens) > 0 {
		t.Errorf("tokens: %v", tokens)
	}
	data := &corev1.Secret{}
	w.mustGet(t, "user-data-"+machineName, data)
	if got := string(data.Data["value"]); got != `{"ignition":{"version":"3.4.0"}}` {
		t.Errorf("user data: %s", got)
	}
	before := w.Calls.Writes()
	w.clock.Step(24 * time.Hour)
	w.pass(t, pass)
	if n := w.Calls.Writes() - before; n > 0 {
		t.Errorf("%d writes for a node at rest: %v", n, w.Calls.Log(before))
	}
}

func TestTheTokenOfADeletedMachineIsRevoked(t *testing.T) {
	w, pass := started(t)
	change(t, w, machineName, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Finalizers = []string{clusterv1.MachineFinalizer} })
	if err := w.Admin().Delete(t.Context(), machine()); err != nil {
		t.Fatal(err)
	}
	w.pass(t, pass)
	if tokens := w.tokens(t); len(tokens) > 0 {
		t.Errorf("tokens of a machine that is being deleted: %v", tokens)
	}
}

func TestTokensAreDeletedWithoutTheGarbageCollector(t *testing.T) {
	w, pass := started(t)
	if err := w.Admin().Delete(t.Context(), nodeBootstrap()); err != nil {
		t.Fatal(err)
	}
	w.pass(t, pass)
	if tokens := w.tokens(t); len(tokens) > 0 {
		t.Errorf("tokens of a NodeBootstrap that is gone: %v", tokens)
	}
}

func TestANodeBootstrapOfTheSameNameGetsATokenOfItsOwn(t *testing.T) {
	w, pass := started(t)
	first := w.userData(t).Token
	w.remove(t, nodeBootstrap())
	w.Create(t, nodeBootstrap())
	w.remove(t, secret("user-data-"+machineName, "", "")) // the garbage collector was faster with this one
	w.others(t)
	w.pass(t, pass)
	if tokens := w.tokens(t); len(tokens) != 1 || w.userData(t).Token == first {
		t.Errorf("joins with the token of another: %v", tokens)
	}
}

func TestATokenThatIsMissingInTheCacheIsReused(t *testing.T) {
	w, pass := started(t)
	first := w.userData(t).Token
	w.blind = true
	w.pass(t, pass)
	if tokens := w.tokens(t); len(tokens) != 1 || w.userData(t).Token != first {
		t.Errorf("a second token was made: %v", tokens)
	}
}

func TestAForeignSecretIsNotOverwritten(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, secret("token-"+machineName+"-1", "token-id", "theirs"))
	w.others(t)
	w.pass(t, w.start())
	c := w.condition(t, hyperv1.NodeBootstrapReadyCondition)
	if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "has another owner") {
		t.Errorf("condition: %+v", c)
	}
	theirs := &corev1.Secret{}
	w.mustGet(t, "token-"+machineName+"-1", theirs)
	if string(theirs.Data["token-id"]) != "theirs" {
		t.Error("it was overwritten")
	}
}

func TestNoUserDataIsCreatedDuringAPause(t *testing.T) {
	for name, pause := range map[string]func(*testing.T, *testEnv){
		"of the cluster": func(t *testing.T, w *testEnv) {
			change(t, w, "demo", &hyperv1.HostedControlPlane{}, func(hcp *hyperv1.HostedControlPlane) {
				until := hyperv1.PausedUntil("true")
				hcp.Spec.PausedUntil = &until
			})
		},
		"by Cluster API": func(t *testing.T, w *testEnv) {
			change(t, w, machineName, &hyperv1.NodeBootstrap{}, func(nb *hyperv1.NodeBootstrap) {
				nb.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.others(t)
			pause(t, w)
			w.pass(t, w.start())
			if c := w.condition(t, hyperv1.NodeBootstrapPausedCondition); c.Status != metav1.ConditionTrue {
				t.Errorf("condition: %+v", c)
			}
			if err := w.get(t.Context(), "user-data-"+machineName, &corev1.Secret{}); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("user data was made (%v)", err)
			}
		})
	}
}

func TestTheConditionNamesTheMissingInput(t *testing.T) {
	for name, c := range map[string]struct {
		spoil        func(*testing.T, *testEnv)
		reason, says string
	}{
		"no address of the API server": {
			spoil: func(t *testing.T, w *testEnv) {
				change(t, w, "demo", &hyperv1.HostedControlPlane{}, func(hcp *hyperv1.HostedControlPlane) { hcp.Status.ControlPlaneEndpoint.Host = "" })
			},
			reason: hyperv1.WaitingForAPIServerReason, says: "no address yet",
		},
		"no control plane": {
			spoil:  func(t *testing.T, w *testEnv) { w.remove(t, controlPlane()) },
			reason: hyperv1.WaitingForAPIServerReason, says: "has no control plane",
		},
		"no kubeconfig": {
			spoil:  func(t *testing.T, w *testEnv) { w.remove(t, inputs()[0]) },
			reason: hyperv1.WaitingForAPIServerReason, says: "Secret demo-x-kubeconfig",
		},
		"a kubeconfig without authority": {
			spoil: func(t *testing.T, w *testEnv) {
				w.fill(t, names.ClusterKubeconfig(infraID), "value", "apiVersion: v1\nkind: Config")
			},
			reason: hyperv1.WaitingForAPIServerReason, says: "no kubeconfig with the CA",
		},
		"no configuration": {
			spoil:  func(t *testing.T, w *testEnv) { w.remove(t, inputs()[1]) },
			reason: hyperv1.ConfigNotFoundReason, says: configName,
		},
		"a configuration that is none": {
			spoil:  func(t *testing.T, w *testEnv) { w.fill(t, configName, "config", "}") },
			reason: hyperv1.ConfigNotFoundReason, says: "delete it, and the operator writes it again",
		},
		"no settings of the cluster": {
			spoil: func(t *testing.T, w *testEnv) {
				change(t, w, configName, &corev1.Secret{}, func(s *corev1.Secret) { delete(s.Data, "cluster") })
			},
			reason: hyperv1.ConfigNotFoundReason, says: "delete it, and the operator writes it again",
		},
		"a trust bundle that is too large": {
			spoil: func(t *testing.T, w *testEnv) {
				noise := make([]byte, 16<<10)
				_, _ = rand.Read(noise)
				w.fill(t, configName, "cluster", `{"trustBundle":{"name":"my-bundle","text":"`+base64.StdEncoding.EncodeToString(noise)+`"}}`)
			},
			reason: hyperv1.UserDataTooLargeReason, says: "the additional trust bundle",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t)
			w.others(t)
			c.spoil(t, w)
			w.pass(t, w.start())
			for _, conditionType := range []string{hyperv1.NodeBootstrapDataSecretCreatedCondition, hyperv1.NodeBootstrapReadyCondition} {
				if got := w.condition(t, conditionType); got.Status != metav1.ConditionFalse || got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
					t.Errorf("want %s because of %s and %q, got %+v", conditionType, c.reason, c.says, got)
				}
			}
		})
	}
}

func TestANodeBootstrapWithoutOwnerWaits(t *testing.T) {
	w := newTestEnv(t)
	w.pass(t, w.start())
	if c := w.condition(t, hyperv1.NodeBootstrapReadyCondition); c.Reason != hyperv1.WaitingForMachineReason {
		t.Errorf("condition: %+v", c)
	}
}

func TestMachinesOfAPublicClusterJoinByItsPublicName(t *testing.T) {
	w := newTestEnv(t)
	change(t, w, "demo", &hyperv1.HostedControlPlane{}, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
		hcp.Status.ControlPlaneEndpoint.Port = 443
	})
	w.others(t)
	w.pass(t, w.start())
	if got := w.userData(t).Server; got != "https://api.public.example.com:443" {
		t.Errorf("joins %s", got)
	}
}

func (w *testEnv) remove(t *testing.T, obj client.Object) {
	t.Helper()
	if err := w.Admin().Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func (w *testEnv) fill(t *testing.T, name, key, value string) {
	t.Helper()
	change(t, w, name, &corev1.Secret{}, func(s *corev1.Secret) { s.Data[key] = []byte(value) })
}
