package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// A Family is a kind of payload with its own version numbers.
type Family string

// The families of payloads.
const (
	Kubernetes Family = "Kubernetes"
	OpenShift  Family = "OpenShift"
)

// A Line is a minor version of a family.
type Line struct {
	Family        Family
	Major, Number int
}

// oldest and newest are the limits of the range of supported versions. Releases of OpenShift are recognized and not supported:
// their components have other images, manifests and operators.
//
// newest is the version of the newest payload, which the lab tests. oldest is three minor versions earlier: the newest kubelet, CoreDNS and Cluster API support this range, and upstream maintains no more.
var oldest, newest = Line{Kubernetes, 1, 34}, Line{Kubernetes, 1, 37}

// LineOf returns the line of the version of a payload.
func LineOf(v string) (Line, bool) {
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return Line{}, false
	}
	l := Line{Major: int(parsed.Major()), Number: int(parsed.Minor())}
	switch l.Major {
	case 1:
		l.Family = Kubernetes
	case 4, 5:
		l.Family = OpenShift
	default:
		return Line{}, false
	}
	return l, true
}

// Supported reports whether the line is in the supported range.
func (l Line) Supported() bool {
	return l.Family == Kubernetes && oldest.Number <= l.Number && l.Number <= newest.Number
}

func (l Line) String() string { return fmt.Sprintf("%d.%d", l.Major, l.Number) }

// SupportedVersions lists the minor versions in the supported range, such as 1.37, the newest first.
func SupportedVersions() (all []string) {
	for number := newest.Number; number >= oldest.Number; number-- {
		all = append(all, Line{Kubernetes, newest.Major, number}.String())
	}
	return all
}

// Window describes the supported range.
func Window() string { return fmt.Sprintf("Kubernetes %s to %s", oldest, newest) }
