package infraid

import (
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestInfraIDFitsNamesOfAWS(t *testing.T) {
	for name, hc := range map[string]string{
		"short":                     "demo",
		"long":                      strings.Repeat("abcdefghij", 6),
		"dotted":                    "demo.example.com",
		"cut behind a dash":         strings.Repeat("a", 20) + "-bcd",
		"as long as may be already": strings.Repeat("a", 21),
	} {
		t.Run(name, func(t *testing.T) {
			c := &hyperv1.HostedCluster{}
			c.Name, c.UID = hc, "uid-1"
			id := generate(c)
			if len(id) > 27 || strings.Contains(id, ".") || strings.Contains(id, "--") {
				t.Errorf("infraID %q", id)
			}
			c.UID = "uid-2"
			if generate(c) == id {
				t.Errorf("two clusters have infraID %q", id)
			}
		})
	}
}
