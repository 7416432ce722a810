// Package steps reports the progress of long work, through the writer that gets its lines.
package steps

import (
	"io"
	"time"
)

// Step is a part of the whole.
type Step struct {
	Name string
	// Expected is how long it takes on two cores with nothing cached.
	Expected time.Duration
}

// Reporter is a writer of progress that shows steps. Their names are unique; a step that begins again is not done.
type Reporter interface {
	io.Writer
	Begin(step string)
	// At reports what the step does now.
	At(step, detail string)
	End(step string)
}

// Begin begins a step, if progress shows steps.
func Begin(progress io.Writer, step string) (end func()) {
	r, shows := progress.(Reporter)
	if !shows {
		return func() {}
	}
	r.Begin(step)
	return func() { r.End(step) }
}
