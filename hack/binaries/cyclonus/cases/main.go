// Command cases prints the test cases of cyclonus as JSON, with the computed result of each, for tests with a network but
// without a cluster.
//
//	cd hack/binaries/cyclonus && go run ./cases >../../../test/lab/networkpolicy/testdata/cyclonus.json
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mattfenwick/cyclonus/pkg/connectivity"
	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/generator"
	"github.com/mattfenwick/cyclonus/pkg/kube"
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	"github.com/sirupsen/logrus"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Case is a test case of cyclonus: the state of the cluster after each of its steps.
type Case struct {
	Description string
	Tags        []string
	Steps       []Step
}

// Step is the whole state of the cluster.
type Step struct {
	Policies   []Policy
	Namespaces map[string]map[string]string
	Pods       map[string]map[string]string // NAMESPACE/NAME -> labels
	Probes     []Probe
}

// Policy is a NetworkPolicy.
type Policy struct {
	Namespace, Name string
	Spec            networkingv1.NetworkPolicySpec
}

// Probe is a port of all pods. Rows are the sources, in the order of their names, columns the destinations.
type Probe struct {
	Protocol v1.Protocol
	Port     int
	Rows     []string // of . (allowed) and X (blocked)
}

func main() {
	logrus.SetOutput(io.Discard)
	cases, err := all()
	if err == nil {
		err = write(cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var namespaces, pods = []string{"x", "y", "z"}, []string{"a", "b", "c"}

func all() ([]Case, error) {
	var cases []Case
	g := generator.NewTestCaseGenerator(true, address("z", "c"), namespaces, nil, nil)
	for _, c := range g.GenerateTestCases() {
		written, err := play(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Description, err)
		}
		cases = append(cases, written)
	}
	return cases, nil
}

// address gives pod a of namespace x 10.0.0.11, pod c of z 10.0.0.33.
func address(namespace, pod string) string {
	// Two cases create more namespaces.
	return fmt.Sprintf("10.0.0.%d%d", slices.Index([]string{"x", "y", "z", "w", "y-2"}, namespace)+1, int(pod[0]-'a')+1)
}

func resources(kubernetes kube.IKubernetes) (*probe.Resources, error) {
	protocols := []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}
	r, err := probe.NewDefaultResources(kubernetes, namespaces, pods, []int{80, 81}, protocols, nil, 5, false, "")
	if err != nil {
		return nil, err
	}
	for ns, labels := range r.Namespaces {
		labels["kubernetes.io/metadata.name"] = ns // the API server sets it
	}
	for _, p := range r.Pods {
		p.IP = address(p.Namespace, p.Name)
	}
	return r, nil
}

// play runs the steps of a case, as cyclonus does on a cluster.
func play(c *generator.TestCase) (Case, error) {
	mock := kube.NewMockKubernetes(1.0)
	r, err := resources(mock)
	if err != nil {
		return Case{}, err
	}
	played := Case{Description: c.Description, Tags: slices.Sorted(slices.Values(c.Tags.Keys()))}
	state := &connectivity.TestCaseState{Kubernetes: mock, Resources: r}
	for _, step := range c.Steps {
		for _, action := range step.Actions {
			if err := act(state, action); err != nil {
				return Case{}, err
			}
		}
		for _, p := range state.Resources.Pods {
			p.IP = address(p.Namespace, p.Name)
		}
		played.Steps = append(played.Steps, describe(state, step.Probe))
	}
	return played, nil
}

func act(s *connectivity.TestCaseState, a *generator.Action) error {
	switch {
	case a.CreatePolicy != nil:
		return s.CreatePolicy(a.CreatePolicy.Policy)
	case a.UpdatePolicy != nil:
		return s.UpdatePolicy(a.UpdatePolicy.Policy)
	case a.DeletePolicy != nil:
		return s.DeletePolicy(a.DeletePolicy.Namespace, a.DeletePolicy.Name)
	case a.CreateNamespace != nil:
		return s.CreateNamespace(a.CreateNamespace.Namespace, a.CreateNamespace.Labels)
	case a.SetNamespaceLabels != nil:
		return s.SetNamespaceLabels(a.SetNamespaceLabels.Namespace, a.SetNamespaceLabels.Labels)
	case a.DeleteNamespace != nil:
		return s.DeleteNamespace(a.DeleteNamespace.Namespace)
	case a.CreatePod != nil:
		return s.CreatePod(a.CreatePod.Namespace, a.CreatePod.Pod, a.CreatePod.Labels)
	case a.SetPodLabels != nil:
		return s.SetPodLabels(a.SetPodLabels.Namespace, a.SetPodLabels.Pod, a.SetPodLabels.Labels)
	case a.DeletePod != nil:
		return s.DeletePod(a.DeletePod.Namespace, a.DeletePod.Pod)
	}
	return fmt.Errorf("an action that is not known: %+v", a)
}

func describe(s *connectivity.TestCaseState, config *generator.ProbeConfig) Step {
	step := Step{Namespaces: maps.Clone(s.Resources.Namespaces), Pods: map[string]map[string]string{}}
	for _, p := range s.Policies {
		step.Policies = append(step.Policies, Policy{p.Namespace, p.Name, *p.Spec.DeepCopy()})
	}
	for _, p := range s.Resources.Pods {
		step.Pods[p.Namespace+"/"+p.Name] = p.Labels
	}
	simulated := probe.NewSimulatedRunner(matcher.BuildNetworkPolicies(true, s.Policies), &probe.JobBuilder{})
	table := simulated.RunProbeForConfig(config, s.Resources)
	names := slices.Sorted(maps.Keys(step.Pods))
	probes := map[string]*Probe{}
	for _, from := range names {
		for _, result := range table.Get(from, names[0]).JobResults {
			probes[result.Key()] = &Probe{Protocol: result.Job.Protocol, Port: result.Job.ResolvedPort}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(probes)) {
		p := probes[key]
		for _, from := range names {
			var row strings.Builder
			for _, to := range names {
				if result := table.Get(from, to).JobResults[key]; result == nil {
					row.WriteString("?")
				} else {
					row.WriteString(result.Combined.ShortString())
				}
			}
			p.Rows = append(p.Rows, row.String())
		}
		if p.Port > 0 {
			step.Probes = append(step.Probes, *p)
		}
	}
	slices.SortFunc(step.Probes, func(a, b Probe) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port))
	})
	return step
}

// write prints a line for each case.
func write(cases []Case) error {
	fmt.Println("[")
	for i, c := range cases {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		end := ","
		if i == len(cases)-1 {
			end = ""
		}
		fmt.Printf("%s%s\n", text, end)
	}
	fmt.Println("]")
	return nil
}
