// Package yamlsize refuses YAML that becomes much larger when it is read.
//
// An alias repeats the node that its anchor names. The parser of sigs.k8s.io/yaml limits how many nodes aliases add, and not how large
// the nodes are: 200 KB of text with 5,000 aliases of one long string become 1 GB of JSON, and take minutes. A process that reads the
// YAML of many users would run out of memory.
package yamlsize

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Limit is the largest size of a document with its aliases replaced: more than fits into a ConfigMap or a Secret without aliases.
const Limit = 1 << 20

// Check returns an error for a document that is larger than Limit after its aliases are replaced. Only the first document of a text is
// read, as by sigs.k8s.io/yaml.
func Check(text []byte) error {
	if !bytes.ContainsRune(text, '*') {
		return nil // a document without aliases does not grow
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return err
	}
	if (sizes{}).of(&document) > Limit {
		return fmt.Errorf("its aliases make it larger than %d MiB: write fewer of them", Limit>>20)
	}
	return nil
}

// sizes are the sizes of nodes with their aliases replaced. A size above Limit may be any size above Limit.
type sizes map[*yaml.Node]int

func (s sizes) of(n *yaml.Node) int {
	if size, exists := s[n]; exists {
		return size
	}
	s[n] = Limit + 1 // of a node that contains itself
	size := len(n.Value) + 1
	if n.Alias != nil {
		size = s.of(n.Alias)
	}
	for _, inner := range n.Content {
		if size <= Limit {
			size += s.of(inner)
		}
	}
	s[n] = size
	return size
}
