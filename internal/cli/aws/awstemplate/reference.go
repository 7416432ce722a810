package awstemplate

import "strings"

// A reference is text between two runes that no name, policy or tag contains. It may be a part of a longer text, such as an ARN.
const (
	opening = "\uE000"
	closing = "\uE001"
)

// Kinds of references.
const (
	toNode      = "node"
	toParameter = "parameter"
	toAccount   = "account"
	toPartition = "partition"
)

func reference(kind, name string) string { return opening + kind + ":" + name + closing }

// Account and Partition are those in which the document is applied.
var (
	Account   = reference(toAccount, "")
	Partition = reference(toPartition, "")
)

// ID refers to the id of the resource of a node. It is a resourcegraph.IDs.
func ID(node string) string { return reference(toNode, node) }

// part of a text: literal text, or a reference.
type part struct {
	text       string
	kind, name string
}

// parse returns the parts of a text.
func parse(text string) []part {
	var parts []part
	for text != "" {
		before, after, found := strings.Cut(text, opening)
		if before != "" {
			parts = append(parts, part{text: before})
		}
		if !found {
			break
		}
		ref, rest, _ := strings.Cut(after, closing)
		kind, name, _ := strings.Cut(ref, ":")
		parts = append(parts, part{kind: kind, name: name})
		text = rest
	}
	return parts
}

// references calls f for each reference in a value.
func references(value any, f func(kind, name string)) {
	switch v := value.(type) {
	case string:
		for _, p := range parse(v) {
			if p.kind != "" {
				f(p.kind, p.name)
			}
		}
	case []string:
		for _, item := range v {
			references(item, f)
		}
	case []any:
		for _, item := range v {
			references(item, f)
		}
	case map[string]any:
		for key, item := range v {
			references(key, f)
			references(item, f)
		}
	}
}
