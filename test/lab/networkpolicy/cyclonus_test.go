package networkpolicy

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cyclonusJSON contains the test cases of cyclonus, with its computed results. hack/binaries/cyclonus/cases prints it.
//
//go:embed testdata/cyclonus.json.gz
var cyclonusJSON []byte

type cyclonusCase struct {
	Description string
	Tags        []string
	Steps       []cyclonusStep
}

// cyclonusStep is a state of the cluster.
type cyclonusStep struct {
	Policies []struct {
		Namespace, Name string
		Spec            networkingv1.NetworkPolicySpec
	}
	Namespaces map[string]map[string]string
	Pods       map[string]map[string]string
	Probes     []cyclonusProbe
}

// cyclonusProbe is a port of all pods. Rows are the sources, columns the destinations; a dot means allowed.
type cyclonusProbe struct {
	Protocol corev1.Protocol
	Port     uint16
	Rows     []string
}

func cyclonusCases(t *testing.T) []cyclonusCase {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(cyclonusJSON))
	if err != nil {
		t.Fatal(err)
	}
	var all []cyclonusCase
	if err := json.NewDecoder(unzipped).Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 200 {
		t.Fatalf("there are %d cases", len(all))
	}
	return all
}

// cyclonusAddress is the address in the ipBlocks of the cases.
func cyclonusAddress(pod string) netip.Addr {
	namespace, name, _ := strings.Cut(pod, "/")
	return netip.MustParseAddr(fmt.Sprintf("10.0.0.%d%d", slices.Index([]string{"x", "y", "z", "w", "y-2"}, namespace)+1, int(name[0]-'a')+1))
}

func (s cyclonusStep) state() State {
	state := State{Node: "n1"}
	for name, labels := range s.Namespaces {
		state.Namespaces = append(state.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	var ports []corev1.ContainerPort
	for _, port := range []int32{80, 81} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
			ports = append(ports, corev1.ContainerPort{
				Name: fmt.Sprintf("serve-%d-%s", port, strings.ToLower(string(protocol))), ContainerPort: port, Protocol: protocol,
			})
		}
	}
	for pod, labels := range s.Pods {
		namespace, name, _ := strings.Cut(pod, "/")
		state.Pods = append(state.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(pod), Labels: labels},
			Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Ports: ports}}},
			Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: cyclonusAddress(pod).String()}}},
		})
	}
	for _, p := range s.Policies {
		state.Policies = append(state.Policies, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, Spec: p.Spec})
	}
	return state
}

// each calls check for every connection with an expectation of cyclonus. Connections of a pod to itself have none, because
// they are always allowed.
func (s cyclonusStep) each(check func(from string, c connection, text string, allowed bool)) {
	names := slices.Sorted(maps.Keys(s.Pods))
	for _, p := range s.Probes {
		for i, from := range names {
			for j, to := range names {
				if want := p.Rows[i][j]; i != j && (want == '.' || want == 'X') {
					check(from, connection{cyclonusAddress(from), cyclonusAddress(to), p.Protocol, p.Port}, fmt.Sprintf("%s > %s %s %d", from, to, p.Protocol, p.Port), want == '.')
				}
			}
		}
	}
}

func TestRulesAllowWhatCyclonusComputes(t *testing.T) {
	connections := 0
	for _, c := range cyclonusCases(t) {
		for i, s := range c.Steps {
			rules := Evaluate(s.state())
			s.each(func(_ string, tried connection, text string, allowed bool) {
				connections++
				if rules.allow(tried) != allowed {
					t.Errorf("%s (%v), step %d: %s: allowed is %t", c.Description, c.Tags, i, text, !allowed)
				}
			})
		}
	}
	t.Logf("%d connections", connections)
}

func TestKernelPassesWhatCyclonusComputes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	// Each has its own network, because most of the time is spent on waiting for dropped packets.
	const networks = 5
	queue := make(chan cyclonusCase)
	var done sync.WaitGroup
	for range networks {
		n := makeCyclonusNetwork(t)
		done.Go(func() {
			for c := range queue {
				n.play(c)
			}
		})
	}
	for _, c := range cyclonusCases(t) {
		queue <- c
	}
	close(queue)
	done.Wait()
}

func makeCyclonusNetwork(t *testing.T) *network {
	t.Helper()
	all := map[string][]netip.Addr{"n1": places["n1"], "n2": places["n2"]}
	pods := []string{"x/a", "x/b", "x/c", "x/d", "y/a", "y/b", "y/c", "z/a", "z/b", "z/c", "w/a", "y-2/a", "y-2/b"}
	for _, pod := range pods {
		four := cyclonusAddress(pod).As4()
		all[pod] = []netip.Addr{cyclonusAddress(pod), netip.MustParseAddr(fmt.Sprintf("fd00::%x", four[3]))}
	}
	return makeNetwork(t, all, pods...)
}

// play writes the rules of each step, and tries the connections of all pods.
func (n *network) play(c cyclonusCase) {
	for i, s := range c.Steps {
		err := n.in("n1", func() error { return n.writer.Write(n.t.Context(), render(Evaluate(s.state()), bridge)) })
		if err != nil {
			n.t.Errorf("%s (%v), step %d: %v", c.Description, c.Tags, i, err)
			return
		}
		var all sync.WaitGroup
		s.each(func(from string, tried connection, text string, allowed bool) {
			if tried.protocol == corev1.ProtocolSCTP { // the kernel may lack SCTP
				return
			}
			all.Go(func() {
				if err := n.expect(from, tried, allowed); err != nil {
					n.t.Errorf("%s (%v), step %d: %s: %v", c.Description, c.Tags, i, text, err)
				}
			})
		})
		all.Wait()
	}
}
