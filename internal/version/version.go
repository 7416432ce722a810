// Package version describes the build of a program: its version, commit, date, Go release and platform.
package version

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// ErrRequested is returned instead of options if the arguments of a program ask for its version.
var ErrRequested = errors.New("version requested")

// Releases and images set these variables with the linker: -X github.com/hosted-control-planes/hypershift/internal/version.version=1.2.3.
// Other builds leave them empty.
var version, commit, date string

// Info describes a build. Unknown fields are "unknown".
type Info struct {
	Version string // such as 1.2.3, without a "v"
	Commit  string
	Date    string // of the commit, so that builds of one commit are equal
	Go      string
	// Platform is the operating system and the architecture.
	Platform string
}

// Get returns the description of this program. It uses the record of the Go toolchain if the linker set no values.
var Get = sync.OnceValue(func() Info {
	recorded := map[string]string{}
	build, ok := debug.ReadBuildInfo()
	if ok {
		recorded["version"] = build.Main.Version
		for _, s := range build.Settings {
			recorded[s.Key] = s.Value
		}
	}
	const unknown = "unknown"
	return Info{
		Version:  cmp.Or(version, recorded["version"], unknown),
		Commit:   cmp.Or(commit, recorded["vcs.revision"], unknown),
		Date:     cmp.Or(date, recorded["vcs.time"], unknown),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
})

// String is the line that --version prints after the name of the program.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, date %s, %s, %s)", i.Version, i.Commit, i.Date, i.Go, i.Platform)
}

// Bind adds --version to the flags of a program. If requested reports true after the flags are parsed, the caller returns ErrRequested.
func Bind(fs *flag.FlagSet) (requested *bool) {
	return fs.Bool("version", false, "print the version and exit")
}

// Print prints the version of a program.
func Print(program string) { fmt.Fprintln(os.Stdout, program, Get()) }
