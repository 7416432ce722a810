package cluster

import (
	"path/filepath"
	"time"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
)

// The protocol between a supervisor and its clients: JSON over HTTP on a socket.
//
//	GET    /progress                 Steps, one per line, as they happen; the last one is Done
//	GET    /status                   Status
//	POST   /machines                 MachineOptions: adds a machine and turns it on
//	POST   /machines/NAME/start      turns it on
//	POST   /machines/NAME/stop       turns it off, in order; its instance is stopped
//	POST   /machines/NAME/force-stop cuts its power; its instance is stopped
//	POST   /machines/NAME/kill       cuts its power; its instance counts as running
//	POST   /machines/NAME/clock      makes its clock wrong by a duration, ?by=10m, or right again
//	DELETE /machines/NAME            removes it, with its disk
//	POST   /second                   starts the control plane of the second management cluster, unless it runs: Second
//	DELETE /second                   removes the second management cluster, with its machines
//
// An error is a text, with a status code of 400 or more.

// Socket is the socket of the supervisor of the lab in dir.
func Socket(dir string) string { return filepath.Join(dir, "socket") }

// Kubeconfig is the file of the administrator of the lab in dir.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

// SecondDir is the directory of the second management cluster of the lab in dir: Kubeconfig(SecondDir(dir)) is the file of its
// administrator.
func SecondDir(dir string) string { return filepath.Join(dir, "second") }

// Step is a completed step of the start.
type Step struct {
	Text string `json:"text,omitempty"`
	// Done marks the last step: the lab runs.
	Done bool `json:"done,omitempty"`
}

// Status is the state of a lab.
type Status struct {
	Processes []ProcessStatus `json:"processes"`
	Machines  []MachineStatus `json:"machines"`
	// Second is nil while there is no second management cluster.
	Second *Second `json:"second,omitempty"`
	// Cloud is nil without a cloud.
	Cloud *cloud.Status `json:"cloud,omitempty"`
}

// Second is the second management cluster.
type Second struct {
	// Management is its share of the account of the management cluster.
	Management *awsemulator.Management `json:"management"`
}

// ProcessStatus is a server that the supervisor runs.
type ProcessStatus struct {
	Name    string    `json:"name"`
	Running bool      `json:"running"`
	Since   time.Time `json:"since"`
	// Restarts is the number of restarts.
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
