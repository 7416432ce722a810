package bootstrap

import (
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

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// started returns a test environment in which Cluster API has set the owner of the NodeBootstrap, after one pass of the controller.
func started(t *testing.T) *fakeMachine {
	t.Helper()
	e := newFakeMachine(t)
	e.RunOthers()
	e.Once()
	return e
}

func TestAMachineGetsWhatItNeedsToJoin(t *testing.T) {
	e := newFakeMachine(t)
	e.RunOthers()
	e.Once()
	e.expectMachineThatCanJoin()
}

func (e *fakeMachine) expectMachineThatCanJoin() {
	e.T.Helper()
	nb := testenv.Named(e.Env, machineName, &hyperv1.NodeBootstrap{})
	if nb.Status.DataSecretName != "user-data-"+machineName || nb.Status.Initialization.DataSecretCreated == nil || !*nb.Status.Initialization.DataSecretCreated {
		e.T.Errorf("Cluster API would wait: %+v", nb.Status)
	}
	data := testenv.Named(e.Env, nb.Status.DataSecretName, &corev1.Secret{})
	if data.Labels[clusterv1.ClusterNameLabel] != infraID || string(data.Data["format"]) != "ignition" || !metav1.IsControlledBy(data, nb) {
		e.T.Errorf("the Secret is not what the contract asks for: %+v", data.ObjectMeta)
	}

	node, tokens := e.userData(), e.tokens()
	if node.Server != "https://api.demo.hypershift.local:6443" || string(node.CA) != "root\n" {
		e.T.Errorf("joins %s by %q", node.Server, node.CA)
	}
	if node.Token != tokens["token-"+machineName+"-1"] {
		e.T.Errorf("joins with %s, and there are %v", node.Token, tokens)
	}
	if diff := cmp.Diff(map[string]string{"tier": "front", hyperv1.NodePoolLabel: "workers"}, node.Labels); diff != "" {
		e.T.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(node.Taints) != 2 || node.Taints[0].Key != "dedicated" {
		e.T.Errorf("taints: %v", node.Taints)
	}
	if diff := cmp.Diff([]string{"ssh-ed25519 AAAA me"}, node.SSHKeys["core"]); diff != "" {
		e.T.Errorf("ssh keys (-want +got):\n%s", diff)
	}
	if kubelet := node.Files["/etc/kubernetes/kubelet.yaml"]; !strings.Contains(kubelet, "maxPods: 110") || !strings.Contains(kubelet, "clusterDNS:\n- 172.31.0.10\n- fd03::a\n") {
		e.T.Errorf("configuration of the kubelet:\n%s", kubelet)
	}
	want := `NO_PROXY="localhost,127.0.0.1,169.254.169.254,.svc,.cluster.local,.hypershift.local,.internal,10.0.0.0/16,10.132.0.0/14,172.31.0.0/16,fd03::/112,example.com"`
	if env := node.Files["/etc/kubernetes/environment"]; !strings.Contains(env, want) || !strings.Contains(env, `HTTPS_PROXY="http://proxy:3128"`) {
		e.T.Errorf("environment:\n%s", env)
	}
	if got := node.Files["/etc/kubernetes/trust/additional.crt"]; got != "more\n" {
		e.T.Errorf("trust bundle: %q", got)
	}
}

func TestUserDataHasTheStoredSettingsAndNoOthers(t *testing.T) {
	e := newFakeMachine(t)
	testenv.Change(e.Env, &hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo")}, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration.Proxy.HTTPSProxy = "http://later:3128" // the NodePool controller has not stored it yet
	})
	e.RunOthers()
	e.Restart()
	e.Once()
	if env := e.userData().Files["/etc/kubernetes/environment"]; !strings.Contains(env, `HTTPS_PROXY="http://proxy:3128"`) {
		t.Errorf("environment:\n%s", env)
	}
}

func TestATokenSecretHasTheFormatOfTheHostedCluster(t *testing.T) {
	e := started(t)
	s := testenv.Named(e.Env, "token-"+machineName+"-1", &corev1.Secret{})
	ends, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	if err != nil || ends.Sub(e.Clock.Now()) > 30*time.Minute || ends.Sub(e.Clock.Now()) < 29*time.Minute {
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
	e := started(t)
	first := e.userData().Token
	if after := e.RequeueAfter; after <= 14*time.Minute || after > 15*time.Minute {
		t.Errorf("comes back after %s", after)
	}

	e.Clock.Step(14 * time.Minute)
	e.Once()
	if len(e.tokens()) != 1 || e.userData().Token != first {
		t.Errorf("a fresh token was renewed: %v", e.tokens())
	}
	e.Clock.Step(time.Minute)
	e.Once()
	second, tokens := e.userData().Token, slices.Sorted(maps.Values(e.tokens()))
	if second == first || !slices.Contains(tokens, first) || !slices.Contains(tokens, second) {
		t.Errorf("an instance that starts now joins with %s, one that has just started with %s, and there are %v", second, first, tokens)
	}
	e.Once()
	if e.userData().Token != second {
		t.Errorf("went back to %s, of %v", e.userData().Token, tokens)
	}
	e.Clock.Step(15 * time.Minute)
	e.Once()
	if slices.Contains(slices.Collect(maps.Values(e.tokens())), first) || len(e.tokens()) != 2 {
		t.Errorf("what has ended is still there: %v", e.tokens())
	}
}

func TestTokenAndUserDataAreRemovedOnceTheMachineHasJoined(t *testing.T) {
	e := started(t)
	e.joins = true
	e.RunOthers()
	e.Once()
	if tokens := e.tokens(); len(tokens) > 0 {
		t.Errorf("tokens: %v", tokens)
	}
	data := testenv.Named(e.Env, "user-data-"+machineName, &corev1.Secret{})
	if got := string(data.Data["value"]); got != `{"ignition":{"version":"3.4.0"}}` {
		t.Errorf("user data: %s", got)
	}
	before := e.Calls.Writes()
	e.Clock.Step(24 * time.Hour)
	e.Once()
	if n := e.Calls.Writes() - before; n > 0 {
		t.Errorf("%d writes for a node at rest: %v", n, e.Calls.Log(before))
	}
}

func TestTheTokenOfADeletedMachineIsRevoked(t *testing.T) {
	e := started(t)
	testenv.Change(e.Env, &clusterv1.Machine{ObjectMeta: testenv.In(namespace, machineName)}, func(m *clusterv1.Machine) { m.Finalizers = []string{clusterv1.MachineFinalizer} })
	e.Delete(machine())
	e.Once()
	if tokens := e.tokens(); len(tokens) > 0 {
		t.Errorf("tokens of a machine that is being deleted: %v", tokens)
	}
}

func TestTokensAreDeletedWithoutTheGarbageCollector(t *testing.T) {
	e := started(t)
	e.Delete(nodeBootstrap())
	e.Once()
	if tokens := e.tokens(); len(tokens) > 0 {
		t.Errorf("tokens of a NodeBootstrap that is gone: %v", tokens)
	}
}

func TestANodeBootstrapOfTheSameNameGetsATokenOfItsOwn(t *testing.T) {
	e := started(t)
	first := e.userData().Token
	e.Delete(nodeBootstrap())
	e.Create(nodeBootstrap())
	e.Delete(testenv.Secret("user-data-"+machineName, "", "")) // the garbage collector was faster with this one
	e.RunOthers()
	e.Once()
	if tokens := e.tokens(); len(tokens) != 1 || e.userData().Token == first {
		t.Errorf("joins with the token of another: %v", tokens)
	}
}

func TestATokenThatIsMissingInTheCacheIsReused(t *testing.T) {
	e := started(t)
	first := e.userData().Token
	e.blind = true
	e.Once()
	if tokens := e.tokens(); len(tokens) != 1 || e.userData().Token != first {
		t.Errorf("a second token was made: %v", tokens)
	}
}

func TestAForeignSecretIsNotOverwritten(t *testing.T) {
	e := newFakeMachine(t)
	e.Create(testenv.Secret("token-"+machineName+"-1", "token-id", "theirs"))
	e.RunOthers()
	e.Restart()
	e.Once()
	c := e.Condition(hyperv1.NodeBootstrapReadyCondition)
	if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "has another owner") {
		t.Errorf("condition: %+v", c)
	}
	theirs := testenv.Named(e.Env, "token-"+machineName+"-1", &corev1.Secret{})
	if string(theirs.Data["token-id"]) != "theirs" {
		t.Error("it was overwritten")
	}
}

func TestNoUserDataIsCreatedDuringAPause(t *testing.T) {
	for name, pause := range map[string]func(*testing.T, *fakeMachine){
		"of the cluster": func(t *testing.T, e *fakeMachine) {
			testenv.Change(e.Env, &hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo")}, func(hcp *hyperv1.HostedControlPlane) {
				until := hyperv1.PausedUntil("true")
				hcp.Spec.PausedUntil = &until
			})
		},
		"by Cluster API": func(t *testing.T, e *fakeMachine) {
			testenv.Change(e.Env, &hyperv1.NodeBootstrap{ObjectMeta: testenv.In(namespace, machineName)}, func(nb *hyperv1.NodeBootstrap) {
				nb.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeMachine(t)
			e.RunOthers()
			pause(t, e)
			e.Restart()
			e.Once()
			if c := e.Condition(hyperv1.NodeBootstrapPausedCondition); c.Status != metav1.ConditionTrue {
				t.Errorf("condition: %+v", c)
			}
			if e.Exists(testenv.Secret("user-data-"+machineName, "", "")) {
				t.Error("user data was made")
			}
		})
	}
}

func TestTheConditionNamesTheMissingInput(t *testing.T) {
	for name, c := range map[string]struct {
		spoil        func(*testing.T, *fakeMachine)
		reason, says string
	}{
		"no address of the API server": {
			spoil: func(t *testing.T, e *fakeMachine) {
				testenv.Change(e.Env, &hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo")}, func(hcp *hyperv1.HostedControlPlane) { hcp.Status.ControlPlaneEndpoint.Host = "" })
			},
			reason: hyperv1.WaitingForAPIServerReason, says: "no address yet",
		},
		"no control plane": {
			spoil:  func(t *testing.T, e *fakeMachine) { e.Delete(controlPlane()) },
			reason: hyperv1.WaitingForAPIServerReason, says: "has no control plane",
		},
		"no kubeconfig": {
			spoil:  func(t *testing.T, e *fakeMachine) { e.Delete(inputs()[0]) },
			reason: hyperv1.WaitingForAPIServerReason, says: "Secret demo-x-kubeconfig",
		},
		"a kubeconfig without authority": {
			spoil: func(t *testing.T, e *fakeMachine) {
				e.fill(names.ClusterKubeconfig(infraID), "value", "apiVersion: v1\nkind: Config")
			},
			reason: hyperv1.WaitingForAPIServerReason, says: "no kubeconfig with the CA",
		},
		"no configuration": {
			spoil:  func(t *testing.T, e *fakeMachine) { e.Delete(inputs()[1]) },
			reason: hyperv1.ConfigNotFoundReason, says: configName,
		},
		"a configuration that is none": {
			spoil:  func(t *testing.T, e *fakeMachine) { e.fill(configName, "config", "}") },
			reason: hyperv1.ConfigNotFoundReason, says: "delete it, and the operator writes it again",
		},
		"no settings of the cluster": {
			spoil: func(t *testing.T, e *fakeMachine) {
				testenv.Change(e.Env, &corev1.Secret{ObjectMeta: testenv.In(namespace, configName)}, func(s *corev1.Secret) { delete(s.Data, "cluster") })
			},
			reason: hyperv1.ConfigNotFoundReason, says: "delete it, and the operator writes it again",
		},
		"a trust bundle that is too large": {
			spoil: func(t *testing.T, e *fakeMachine) {
				noise := make([]byte, 16<<10)
				_, _ = rand.Read(noise)
				e.fill(configName, "cluster", `{"trustBundle":{"name":"my-bundle","text":"`+base64.StdEncoding.EncodeToString(noise)+`"}}`)
			},
			reason: hyperv1.UserDataTooLargeReason, says: "the additional trust bundle",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeMachine(t)
			e.RunOthers()
			c.spoil(t, e)
			e.Restart()
			e.Once()
			for _, conditionType := range []string{hyperv1.NodeBootstrapDataSecretCreatedCondition, hyperv1.NodeBootstrapReadyCondition} {
				if got := e.Condition(conditionType); got.Status != metav1.ConditionFalse || got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
					t.Errorf("want %s because of %s and %q, got %+v", conditionType, c.reason, c.says, got)
				}
			}
		})
	}
}

func TestANodeBootstrapWithoutOwnerWaits(t *testing.T) {
	e := newFakeMachine(t)
	e.Once()
	if c := e.Condition(hyperv1.NodeBootstrapReadyCondition); c.Reason != hyperv1.WaitingForMachineReason {
		t.Errorf("condition: %+v", c)
	}
}

func TestMachinesOfAPublicClusterJoinByItsPublicName(t *testing.T) {
	e := newFakeMachine(t)
	testenv.Change(e.Env, &hyperv1.HostedControlPlane{ObjectMeta: testenv.In(namespace, "demo")}, func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.EndpointAccess = hyperv1.Public
		hcp.Status.ControlPlaneEndpoint.Port = 443
	})
	e.RunOthers()
	e.Restart()
	e.Once()
	if got := e.userData().Server; got != "https://api.public.example.com:443" {
		t.Errorf("joins %s", got)
	}
}

func (e *fakeMachine) fill(name, key, value string) {
	e.T.Helper()
	testenv.Change(e.Env, &corev1.Secret{ObjectMeta: testenv.In(namespace, name)}, func(s *corev1.Secret) { s.Data[key] = []byte(value) })
}
