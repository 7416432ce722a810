package cluster

import (
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
)

// What a supervisor and its clients say to each other, as JSON over HTTP on a socket:
//
//	GET    /progress                 Steps, one per line, as they happen; the last one is Done
//	GET    /status                   Status
//	POST   /machines                 MachineOptions: adds a machine and turns it on
//	POST   /machines/NAME/start      turns it on
//	POST   /machines/NAME/stop       turns it off, in order
//	POST   /machines/NAME/kill       cuts its power
//	DELETE /machines/NAME            removes it, with its disk
//
// What goes wrong is a text, with a code of 400 or more.

// Socket is where the supervisor of the lab in dir listens.
func Socket(dir string) string { return filepath.Join(dir, "socket") }

// Kubeconfig is the file of the administrator of the lab in dir.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

// Step is something that has happened on the way up.
type Step struct {
	Text string `json:"text,omitempty"`
	// Done says that there are no more steps: the lab is up.
	Done bool `json:"done,omitempty"`
}

// Status is what there is in a lab.
type Status struct {
	Processes []ProcessStatus `json:"processes"`
	Machines  []MachineStatus `json:"machines"`
	// Cloud is nil if there is none.
	Cloud *cloud.Status `json:"cloud,omitempty"`
}

// ProcessStatus is a server that the supervisor runs.
type ProcessStatus struct {
	Name    string    `json:"name"`
	Running bool      `json:"running"`
	Since   time.Time `json:"since"`
	// Restarts is how often it has ended.
	Restarts int    `json:"restarts"`
	Log      string `json:"log"`
}

// MachineStatus is a machine.
type MachineStatus struct {
	MachineOptions
	Address string `json:"address"`
	Running bool   `json:"running"`
	Log     string `json:"log"`
}

func (s *Status) has(machine string) bool {
	for _, m := range s.Machines {
		if m.Name == machine {
			return true
		}
	}
	return false
}
