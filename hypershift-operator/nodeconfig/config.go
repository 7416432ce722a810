package nodeconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Config is what users ask of the nodes of a pool, in one form however they said it. Its JSON is what Hash is of: a field
// that is added here must be left out where it is empty, or every node of every cluster is replaced.
type Config struct {
	// Kubelet has the fields of a KubeletConfiguration that were set.
	Kubelet map[string]any `json:"kubelet,omitempty"`
	// Ignition has the Ignition configurations, in the order in which they are merged.
	Ignition []map[string]any `json:"ignition,omitempty"`
	// Mirrors of registries, in the order in which they were listed.
	Mirrors []Mirror `json:"mirrors,omitempty"`
}

// A Mirror is where images of a source may be pulled from instead.
type Mirror struct {
	// Source is a registry, or a repository of it.
	Source string `json:"source"`
	// Mirrors are tried in order.
	Mirrors []string `json:"mirrors"`
	// Tags says that the mirrors are asked for tags too, not only for digests.
	Tags bool `json:"tags,omitempty"`
	// Only says that the source itself is never asked.
	Only bool `json:"only,omitempty"`
}

// hashBytes is how much of the digest is part of a name. Two configurations of a pool never have the same 10 bytes.
const hashBytes = 10

// hash returns the hash of the Config and of what else replaces machines.
func (c Config) hash(also []string) (string, error) {
	text, err := json.Marshal(c) // the keys of maps are sorted: the same Config always has the same text
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
