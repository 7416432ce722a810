package supervisor

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

func TestNextHost(t *testing.T) {
	for name, c := range map[string]struct {
		last  int
		taken []int
		want  int
	}{
		"the first machine":                  {want: 11},
		"another one":                        {last: 11, taken: []int{11}, want: 12},
		"a released address is reused late":  {last: 12, taken: []int{12}, want: 13},
		"addresses in use are skipped":       {last: 12, taken: []int{13, 14}, want: 15},
		"the first one follows the last one": {last: 250, taken: []int{11, 250}, want: 12},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := nextHost(c.last, c.taken); err != nil || got != c.want {
				t.Errorf("got %d, %v; want %d", got, err, c.want)
			}
		})
	}
	var all []int
	for n := firstHost; n <= lastHost; n++ {
		all = append(all, n)
	}
	if got, err := nextHost(11, all); err == nil {
		t.Errorf("all are in use, but %d was returned", got)
	}
}

func TestRoutes(t *testing.T) {
	named := func(name string, host int) *machine {
		return &machine{MachineOptions: cluster.MachineOptions{Name: name, Zone: "us-east-1a"}, host: host}
	}
	node := func(name, pods string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: pods}}
	}
	machines := []*machine{named("m1", 11), named("m2", 12), named("m3", 13)}
	nodes := []*corev1.Node{node("m1", "10.56.1.0/24"), node("m2", "10.56.2.0/24"), node("m3", ""), node("gone", "10.56.4.0/24")}
	for name, c := range map[string]struct {
		in   string
		want map[string]string
	}{
		"the switch has routes to all nodes with pods and a machine": {want: map[string]string{"10.56.1.0/24": "10.55.16.11", "10.56.2.0/24": "10.55.16.12"}},
		"a machine has its own pods on its bridge":                   {in: "m1", want: map[string]string{"10.56.2.0/24": "10.55.16.12"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := routes(machines, nodes, c.in); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLateClientGetsAllSteps(t *testing.T) {
	n := newProgress()
	n.add("one")
	_, more := n.since(1)
	if _, err := n.Write([]byte("two\nthree\n")); err != nil {
		t.Fatal(err)
	}
	<-more
	n.end()
	n.add("the lab is up, and this is for the log")
	all, _ := n.since(0)
	want := []cluster.Step{{Text: "one"}, {Text: "two"}, {Text: "three"}, {Done: true}}
	if len(all) != len(want) {
		t.Fatalf("got %v, want %v", all, want)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("step %d is %v, want %v", i, all[i], want[i])
		}
	}
}
