package metrics

import (
	"github.com/hosted-control-planes/hypershift/internal/version"
)

var operatorInfo = describe("hypershift_operator_info", "Always 1; the labels say which build of the hypershift-operator leads.",
	"version", "revision", "go_version")

// build returns the values of the labels of operatorInfo.
func build() []string {
	info := version.Get()
	return []string{info.Version, info.Commit, info.Go}
}
