package networkpolicy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/knftables"
)

// inside runs nft in the network namespace of the node, independent of the calling thread.
type inside struct {
	knftables.Interface
	n *network
}

func (i inside) Run(ctx context.Context, tx *knftables.Transaction) error {
	return i.n.in("n1", func() error { return i.Interface.Run(ctx, tx) })
}

// following is an enforcer of node n1, in a cluster with the policies. The status of its pods contains no addresses.
func following(t *testing.T, policies ...string) (*network, *fake.Clientset, string) {
	t.Helper()
	n := newNetwork(t)
	s := clusterWith(t, policies...)
	var objects []runtime.Object
	for _, ns := range s.Namespaces {
		objects = append(objects, ns)
	}
	for _, p := range s.Policies {
		objects = append(objects, p)
	}
	for _, p := range s.Pods {
		if p.Spec.NodeName == "n1" {
			p.Status.PodIPs = nil
		}
		objects = append(objects, p)
	}
	client := fake.NewClientset(objects...)
	dir, err := os.MkdirTemp("", "np-") // t.TempDir() is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	n.writer.NFT = inside{n.writer.NFT, n}
	if _, err := start(t.Context(), Options{Node: "n1", Bridge: bridge, Client: client, Socket: socket, Log: slog.New(slog.DiscardHandler)}, n.writer); err != nil {
		t.Fatal(err)
	}
	return n, client, socket
}

// plug calls the plugin like containerd.
func plug(command, socket, place string) (string, error) {
	namespace, name, _ := strings.Cut(place, "/")
	environment := map[string]string{
		"CNI_COMMAND": command,
		"CNI_ARGS":    fmt.Sprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=%s;K8S_POD_NAME=%s;K8S_POD_INFRA_CONTAINER_ID=c;K8S_POD_UID=%s", namespace, name, place),
	}
	result := map[string]any{"cniVersion": "1.0.0", "ips": []map[string]any{
		{"address": places[place][0].String() + "/24"}, {"address": places[place][1].String() + "/64"},
	}}
	config, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "socket": socket, "prevResult": result})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = RunPlugin(context.Background(), func(name string) string { return environment[name] }, bytes.NewReader(config), &out)
	return out.String(), err
}

func TestPoliciesOfAPodAreInEffectWhenItsNetworkIsCreated(t *testing.T) {
	n, _, socket := following(t, `{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}]}]}`)
	n.check(nil, []string{"outside > x/a tcp 80", "x/a > outside tcp 80"})

	result, err := plug("ADD", socket, "x/a")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(result, places["x/a"][0].String()) {
		t.Errorf("the result has no address: %s", result)
	}
	n.check([]string{"outside > x/a tcp 80", "outside > x/a tcp6 80", "x/a > outside tcp 80"}, []string{"outside > x/a tcp 81", "x/b > x/a tcp 80"})

	if _, err := plug("DEL", socket, "x/a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the address is closed after the pod is gone", func() bool { return !n.passes("x/a > outside tcp 80") })
}

func TestPodThatTheAPIServerDoesNotHaveGetsNoNetwork(t *testing.T) {
	_, client, socket := following(t)
	if err := client.CoreV1().Pods("x").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := Pod{Namespace: "x", Name: "a", UID: "x/a", Addresses: places["x/a"]}
	eventually(t, "the deletion is observed", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return call(ctx, socket, "PUT", pod) != nil
	})
}

func TestChangedPolicyIsEnforced(t *testing.T) {
	n, client, socket := following(t)
	for _, pod := range []string{"x/a", "x/b", "y/a"} {
		if _, err := plug("ADD", socket, pod); err != nil {
			t.Fatal(err)
		}
	}
	const fromPeer, fromOther = "y/a > x/a tcp 80", "x/b > x/a tcp 80"
	n.check([]string{fromPeer, fromOther}, nil)
	policies := client.NetworkingV1().NetworkPolicies("x")
	made, err := policies.Create(t.Context(), clusterWith(t, `{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: team-y}}}]}]}`).Policies[0], metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a policy isolates", func() bool { return !n.passes(fromOther) })
	n.check([]string{fromPeer}, []string{fromOther})
	relabel := func(name string, labels map[string]string) {
		namespace, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		namespace.Labels = labels
		if _, err := client.CoreV1().Namespaces().Update(t.Context(), namespace, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	relabel("y", nil)
	eventually(t, "a namespace without the label is not a peer", func() bool { return !n.passes(fromPeer) })
	n.check(nil, []string{fromPeer})
	relabel("x", map[string]string{UnenforcedLabel: ""})
	eventually(t, "the policies of a namespace with the label are ignored", func() bool { return n.passes(fromPeer) && n.passes(fromOther) })
	relabel("x", nil)
	eventually(t, "without the label they are enforced again", func() bool { return !n.passes(fromPeer) && !n.passes(fromOther) })
	if err := policies.Delete(t.Context(), made.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "without the policy all are open", func() bool { return n.passes(fromPeer) && n.passes(fromOther) })
}

// eventually waits for the time that the lab promises, plus a margin for a busy host.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(answerWithin); time.Now().Before(end); {
		if is() {
			return
		}
	}
	t.Errorf("timed out: %s", what)
}

func TestPluginReportsVersionsAndErrorsAsCNIDefinesThem(t *testing.T) {
	if out, err := plug("VERSION", "", "x/a"); err != nil || !strings.Contains(out, `"supportedVersions"`) {
		t.Errorf("VERSION: %s, %v", out, err)
	}
	out, err := plug("ADD", filepath.Join(t.TempDir(), "none"), "x/a")
	if err == nil {
		t.Fatal("a pod gets a network without enforcement")
	}
	var failure struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
	}
	if err := json.Unmarshal([]byte(out), &failure); err != nil || failure.Code == 0 || !strings.Contains(failure.Msg, "x/a") {
		t.Errorf("got %s, %v", out, err)
	}
	if _, err := plug("DEL", filepath.Join(t.TempDir(), "none"), "x/a"); err != nil {
		t.Errorf("a pod cannot be deleted: %v", err)
	}
}
