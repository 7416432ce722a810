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

// state is what is written down about a supervisor before it does anything. A directory that has it is that of a lab.
type state struct {
	Options Options `json:"options"`
	PID     int     `json:"pid"`
	// Began is when the process began, in ticks since the host did: pids come again.
	Began string `json:"began"`
	// Settings are what we have changed on the host.
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
		// Half a state would keep everybody from removing the lab.
		err = os.Rename(s.path(newStateFile), s.path(stateFile))
	}
	if err != nil {
		return fmt.Errorf("writing down what there is of the lab: %w", err)
	}
	return nil
}

// readState returns nil if there is no lab in dir.
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
		return nil, fmt.Errorf("reading what there is of the lab in %s: %w", dir, err)
	}
	s.Options.Dir = dir
	return s, nil
}

// MustNotBeUp returns an error if the lab of these options is up.
func MustNotBeUp(o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	s, err := readState(o.Dir)
	if err == nil && s != nil && s.alive() {
		err = fmt.Errorf("the lab in %s was started by somebody else, and is neither used nor taken down: wait for them, or end it with \"go run ./test/lab down\"", o.Dir)
	}
	return err
}

// ReadOptions are the options of the lab in dir, for its supervisor.
func ReadOptions(dir string) (Options, error) {
	s, err := readState(dir)
	if err != nil {
		return Options{}, err
	}
	if s == nil {
		return Options{}, fmt.Errorf("there is no lab in %s", dir)
	}
	return s.Options.withDefaults()
}

// alive says whether the supervisor runs.
func (s *state) alive() bool {
	now, err := began(s.PID)
	return err == nil && now == s.Began
}

// began says when a process began. A process that is dead and not buried yet never did.
func began(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name, in parentheses, may have blanks in it.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("reading what process %d is: %q", pid, text)
	}
	if threads := fields[17]; fields[0] == "Z" && (threads == "0" || threads == "1") {
		// With more threads than one it is replacing its program.
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

// lock keeps two of us from starting or ending the same lab at the same time. The kernel drops it when we die.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("locking the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("somebody else is starting or ending the lab in %s right now", dir)
	}
	return func() { f.Close() }, nil
}
