package logs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/internal/logs"
)

func parse(args ...string) (logs.Options, error) {
	var o logs.Options
	fs := flag.NewFlagSet("operator", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Bind(fs)
	return o, fs.Parse(args)
}

func TestLevels(t *testing.T) {
	// The log of client-go at this level and beyond contains the bodies of requests.
	const bodies = 8
	for name, tc := range map[string]struct {
		args []string
		most int // the most verbose level that is written; -1 for errors only
	}{
		"by default":                  {nil, 0},
		"info":                        {[]string{"--log-level=info"}, 0},
		"errors only":                 {[]string{"--log-level=error"}, -1},
		"as much as can be asked for": {[]string{"--log-level=debug"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse(tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			l := o.Logger(io.Discard)
			for v := range bodies + 3 {
				if got, want := l.V(v).Enabled(), v <= tc.most; got != want {
					t.Errorf("level %d: written is %v", v, got)
				}
			}
		})
	}
	for _, bad := range []string{"--log-level=8", "--log-level=trace", "--log-format=xml"} {
		if _, err := parse(bad); err == nil || !strings.Contains(err.Error(), "use one of") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestALogLineIsAJSONObject(t *testing.T) {
	o, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	logs.Use(o.Logger(&out))
	ctrl.Log.WithValues("controller", "hostedcluster", "HostedCluster", klog.KRef("clusters", "demo")).Error(errors.New("no answer"), "Reconciler error")
	klog.InfoS("attempting to acquire leader lease", "lock", "hypershift/hypershift-operator")

	lines := json.NewDecoder(&out)
	var ours, theirs map[string]any
	if err := errors.Join(lines.Decode(&ours), lines.Decode(&theirs)); err != nil {
		t.Fatal(err)
	}
	if object, _ := ours["HostedCluster"].(map[string]any); ours["controller"] != "hostedcluster" || object["name"] != "demo" || ours["error"] != "no answer" || ours["stacktrace"] != nil {
		t.Errorf("our line is %v", ours)
	}
	if theirs["lock"] != "hypershift/hypershift-operator" {
		t.Errorf("the line of a library is %v", theirs)
	}
}
