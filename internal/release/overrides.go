package release

import (
	"fmt"
	"strings"
)

// An Override replaces a registry, a repository or a part of its path by a mirror.
type Override struct{ Source, Mirror string }

// Overrides are an installation's overrides. The source is not used: it may be unreachable.
type Overrides []Override

// ParseOverrides reads source=mirror,source=mirror….
func ParseOverrides(text string) (Overrides, error) {
	var overrides Overrides
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		source, mirror, _ := strings.Cut(pair, "=")
		source, mirror = strings.Trim(source, "/"), strings.Trim(mirror, "/")
		if source == "" || mirror == "" || strings.ContainsAny(pair, " @") {
			return nil, fmt.Errorf("%q is not an override: write source=mirror, such as quay.io/example=mirror.example.com/quay", pair)
		}
		overrides = append(overrides, Override{Source: source, Mirror: mirror})
	}
	return overrides, nil
}

// String returns a text that ParseOverrides reads.
func (o Overrides) String() string {
	var pairs []string
	for _, override := range o {
		pairs = append(pairs, override.Source+"="+override.Mirror)
	}
	return strings.Join(pairs, ",")
}

// Apply returns the name under which an image is pulled. The longest matching source takes precedence.
func (o Overrides) Apply(image string) string {
	var best Override
	for _, candidate := range o {
		if len(candidate.Source) > len(best.Source) && below(image, candidate.Source) {
			best = candidate
		}
	}
	if best.Source == "" {
		return image
	}
	return best.Mirror + strings.TrimPrefix(image, best.Source)
}

// below reports whether the image is part of a source: quay.io/a does not include quay.io/ab, nor quay.io quay.io:8443/a.
func below(image, place string) bool {
	rest, ok := strings.CutPrefix(image, place)
	return ok && (rest == "" || rest[0] == '/' || strings.Contains(place, "/") && strings.ContainsRune(":@", rune(rest[0])))
}
