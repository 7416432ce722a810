package metrics

import (
	"runtime/debug"
	"sync"
)

var operatorInfo = describe("hypershift_operator_info", "Always 1; the labels say which build of the hypershift-operator leads.",
	"version", "revision", "go_version")

// build has the values of the labels of operatorInfo, as the compiler left them.
var build = sync.OnceValue(func() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"", "", ""}
	}
	revision := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return []string{info.Main.Version, revision, info.GoVersion}
})
