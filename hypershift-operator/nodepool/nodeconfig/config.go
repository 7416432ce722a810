package nodeconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Config is the configuration of the nodes of a pool, in one form for all kinds of manifests. Its JSON is hashed: a field
// that is added must be left out where it is empty. Otherwise an upgrade of the operator replaces the machines of every
// cluster.
type Config struct {
	// Kubelet holds the fields of a KubeletConfiguration that the user sets.
	Kubelet map[string]any `json:"kubelet,omitempty"`
	// Ignition lists the Ignition configurations, in the order in which they are merged.
	Ignition []map[string]any `json:"ignition,omitempty"`
	// Mirrors lists the mirrors of registries, in the order in which they were listed.
	Mirrors []Mirror `json:"mirrors,omitempty"`
}

// A Mirror is an alternative location of images.
type Mirror struct {
	// Source is a registry, or a repository of it.
	Source string `json:"source"`
	// Mirrors are tried in order.
	Mirrors []string `json:"mirrors"`
	// Tags is true when the mirrors also resolve tags, not only digests.
	Tags bool `json:"tags,omitempty"`
	// Only is true when images are never pulled from the source itself.
	Only bool `json:"only,omitempty"`
}

// hashBytes is how much of the digest is part of a name. Two configurations of a pool never have the same 10 bytes.
const hashBytes = 10

// hash returns the hash of the Config and of the other texts that replace machines.
func (c Config) hash(also []string) (string, error) {
	text, err := json.Marshal(c) // the keys of maps are sorted: the same Config always gives the same text
	if err != nil {
		return "", fmt.Errorf("hashing the configuration of the node pool: %w", err)
	}
	if len(also) > 0 {
		rest, err := json.Marshal(also) // quoted, so that "ab","c" differs from "a","bc"
		if err != nil {
			return "", fmt.Errorf("hashing the configuration of the node pool: %w", err)
		}
		text = append(text, rest...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashBytes]), nil
}
