package hosting

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Sample is the sample of a public cluster under another name, with other host names, because two clusters cannot share a
// host name.
func (h *Hosting) Sample(name string, availability hyperv1.AvailabilityPolicy) (string, error) {
	text, err := h.sample("hostedcluster-public.yaml")
	if err != nil {
		return "", err
	}
	return rename(text, name, availability)
}

// Pool is the first node pool of the samples, for a cluster with another name.
func (h *Hosting) Pool(cluster string) (string, error) {
	text, err := h.sample("nodepools.yaml")
	if err != nil {
		return "", err
	}
	_, text, _ = strings.Cut(text, "\n---\n")
	text, _, _ = strings.Cut(text, "\n---\n")
	return Replace(text, map[string]string{"name: example-a\n": "name: " + cluster + "\n", "clusterName: example\n": "clusterName: " + cluster + "\n"})
}

func (h *Hosting) sample(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(h.root, "config", "samples", file))
	if err != nil {
		return "", fmt.Errorf("reading a sample: %w", err)
	}
	return string(text), nil
}

func rename(text, name string, availability hyperv1.AvailabilityPolicy) (string, error) {
	return Replace(text, map[string]string{
		"kind: HostedCluster\nmetadata:\n  name: example\n": "kind: HostedCluster\nmetadata:\n  name: " + name + "\n",
		".example.example.test":                             "." + name + ".example.test",
		"Policy: SingleReplica":                             "Policy: " + string(availability),
	})
}

// Replace replaces texts that a sample must contain.
func Replace(sample string, pairs map[string]string) (string, error) {
	for from, to := range pairs {
		if !strings.Contains(sample, from) {
			return "", fmt.Errorf("the sample has no %q any more", from)
		}
		sample = strings.ReplaceAll(sample, from, to)
	}
	return sample, nil
}
