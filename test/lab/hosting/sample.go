package hosting

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Sample is the sample of a public cluster, as that of a cluster with another name: two clusters cannot have the same host names.
func (h *Hosting) Sample(name string, availability hyperv1.AvailabilityPolicy) (string, error) {
	text, err := os.ReadFile(filepath.Join(h.root, "config", "samples", "hostedcluster-public.yaml"))
	if err != nil {
		return "", fmt.Errorf("reading a sample: %w", err)
	}
	return rename(string(text), name, availability)
}

func rename(sample, name string, availability hyperv1.AvailabilityPolicy) (string, error) {
	for from, to := range map[string]string{
		"kind: HostedCluster\nmetadata:\n  name: example\n": "kind: HostedCluster\nmetadata:\n  name: " + name + "\n",
		".example.example.test":                             "." + name + ".example.test",
		"Policy: SingleReplica":                             "Policy: " + string(availability),
	} {
		if !strings.Contains(sample, from) {
			return "", fmt.Errorf("the sample has no %q any more", from)
		}
		sample = strings.ReplaceAll(sample, from, to)
	}
	return sample, nil
}
