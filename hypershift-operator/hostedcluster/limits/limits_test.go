package limits

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func parse(args ...string) (Limits, error) {
	var l Limits
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	l.Bind(fs)
	if err := fs.Parse(args); err != nil {
		return l, err
	}
	return l, l.Check()
}

func TestDefaultsLeaveRoomForARollout(t *testing.T) {
	l, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[corev1.ResourceName]int64{"pods": 150, "services.loadbalancers": 6, "persistentvolumeclaims": 6} {
		if q := l.Quota[name]; q.Value() < least {
			t.Errorf("quota of %s is %s, want at least %d", name, q.String(), least)
		}
	}
	if l.Container.Request.IsZero() || l.Container.Limit.IsZero() || l.Container.Max.Cmp(l.Container.Limit) < 0 || l.MemoryFactor == 0 || len(l.PriorityClasses) > 0 {
		t.Errorf("defaults are %+v", l)
	}
}

func TestFlags(t *testing.T) {
	l, err := parse("--control-plane-quota=", "--control-plane-container-memory=", "--memory-limit-factor=0", "--allowed-priority-classes=b, a,b")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Quota) > 0 || l.Container != (ContainerMemory{}) || l.MemoryFactor != 0 || !slices.Equal(l.PriorityClasses, []string{"a", "b"}) {
		t.Errorf("got %+v", l)
	}
	for arg, says := range map[string]string{
		"--control-plane-quota=pods":                                "write it like name=10",
		"--control-plane-quota=pods=-1":                             "negative",
		"--control-plane-quota=a b=1":                               "not the name of a resource",
		"--control-plane-container-memory=limit=1Gi":                "limit needs request",
		"--control-plane-container-memory=request=1Mi,max=1Gi":      "max needs limit",
		"--control-plane-container-memory=request=2Gi,limit=1Gi":    "request must not be more than limit",
		"--control-plane-container-memory=cpu=1":                    "none of request, limit and max",
		"--memory-limit-factor=-1":                                  "must not be negative",
		"--max-memory-limit-factor=1":                               "not smaller",
		"--allowed-priority-classes=system-node-critical,not_a_dns": "not the name of a PriorityClass",
	} {
		if _, err := parse(arg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", arg, err, says)
		}
	}
}

func TestFactorOfOneCluster(t *testing.T) {
	l := Limits{MemoryFactor: 10, MaxMemoryFactor: 20}
	for text, want := range map[string]int64{"": 10, "1": 1, "20": 20} {
		if got, err := l.Factor(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "21", "many", "1.5"} {
		if got, err := l.Factor(text); err == nil || got != 10 {
			t.Errorf("%q: %d, %v, want an error and the default", text, got, err)
		}
	}
}
