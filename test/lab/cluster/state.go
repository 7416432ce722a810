package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// state identifies a supervisor. It is stored before the supervisor does anything. A directory with this file is a lab's
// directory.
type state struct {
	Options Options `json:"options"`
	PID     int     `json:"pid"`
	// Began is the start time of the process, in ticks since the boot of the host. It is needed because pids are reused.
	Began string `json:"began"`
	// Settings are the changed settings of the host.
	Settings []cgroup.Setting `json:"settings,omitempty"`
}

const stateFile, newStateFile = "lab.json", "lab.json.new"

func (s *state) path(file string) string { return filepath.Join(s.Options.Dir, file) }

func (s *state) write() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.WriteFile(s.path(newStateFile), append(text, '\n'), 0o644)
	}
	if err == nil {
		// A partial state would prevent the removal of the lab, therefore the file is replaced atomically.
		err = os.Rename(s.path(newStateFile), s.path(stateFile))
	}
	if err != nil {
		return fmt.Errorf("writing the state of the lab: %w", err)
	}
	return nil
}

// readState returns nil if dir contains no lab.
func readState(dir string) (*state, error) {
	s := &state{}
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of the lab in %s: %w", dir, err)
	}
	s.Options.Dir = dir
	return s, nil
}

// MustNotBeUp returns an error if the lab of these options runs.
func MustNotBeUp(o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	s, err := readState(o.Dir)
	if err == nil && s != nil && s.alive() {
		err = fmt.Errorf("the lab in %s belongs to another user: wait until it ends, or end it with \"make lab-down\"", o.Dir)
	}
	return err
}

// ReadOptions returns the options of the lab in dir, for its supervisor.
func ReadOptions(dir string) (Options, error) {
	s, err := readState(dir)
	if err != nil {
		return Options{}, err
	}
	if s == nil {
		return Options{}, fmt.Errorf("%s contains no lab", dir)
	}
	return s.Options.withDefaults()
}

// alive reports whether the supervisor runs.
func (s *state) alive() bool {
	now, err := began(s.PID)
	return err == nil && now == s.Began
}

// began returns the start time of a process. A zombie counts as ended.
func began(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name, in parentheses, may contain blanks.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("parsing the status of process %d: %q", pid, text)
	}
	if threads := fields[17]; fields[0] == "Z" && (threads == "0" || threads == "1") {
		// A process with more than one thread is replacing its program.
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

// lock prevents two processes from starting or stopping the same lab at the same time. The kernel releases it when the
// process ends.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("locking the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another process is starting or stopping the lab in %s", dir)
	}
	return func() { f.Close() }, nil
}
