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

// A Line is a minor version of a family. The lines of a family are consecutive numbers.
type Line struct {
	Family Family
	Number int
}

// window is the range of supported versions.
//
// The newest Kubernetes is that of the libraries of this program, which match its API server. The oldest is three minor
// versions earlier: the newest kubelet, CoreDNS and Cluster API support this range, and upstream maintains no more. The
// newest OpenShift is the newest with a Kubernetes in the range; the oldest is the first with a payload that can be hosted without
// parts that were removed from the cluster itself in that version.
var window = map[Family]struct{ oldest, newest Line }{
	Kubernetes: {Line{Kubernetes, 33}, Line{Kubernetes, 36}},
	OpenShift:  {Line{OpenShift, 14}, Line{OpenShift, openShift5 + 1}},
}

// openShift5 is the line of OpenShift 5.0: it follows 4.22.
const openShift5 = 23

// LineOf returns the line of the version of a payload.
func LineOf(v string) (Line, bool) {
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return Line{}, false
	}
	switch minor := int(parsed.Minor()); parsed.Major() {
	case 1:
		return Line{Kubernetes, minor}, true
	case 4:
		return Line{OpenShift, minor}, true
	case 5:
		return Line{OpenShift, openShift5 + minor}, true
	}
	return Line{}, false
}

// Supported reports whether the line is in the supported range.
func (l Line) Supported() bool {
	w, ok := window[l.Family]
	return ok && w.oldest.Number <= l.Number && l.Number <= w.newest.Number
}

func (l Line) String() string {
	switch {
	case l.Family == Kubernetes:
		return fmt.Sprintf("1.%d", l.Number)
	case l.Number >= openShift5:
		return fmt.Sprintf("5.%d", l.Number-openShift5)
	}
	return fmt.Sprintf("4.%d", l.Number)
}

// Window describes the supported range.
func Window() string {
	k, o := window[Kubernetes], window[OpenShift]
	return fmt.Sprintf("Kubernetes %s to %s, OpenShift %s to %s", k.oldest, k.newest, o.oldest, o.newest)
}
