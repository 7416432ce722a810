package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestProcessIsIdentifiedByItsStartTime(t *testing.T) {
	child := exec.CommandContext(t.Context(), "cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	s := &state{PID: child.Process.Pid}
	if s.Began, err = began(s.PID); err != nil {
		t.Fatal(err)
	}
	if !s.alive() {
		t.Error("a running process is reported as ended")
	}
	if other := (&state{PID: s.PID, Began: s.Began + "1"}); other.alive() {
		t.Error("another process with its pid is reported as running")
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if s.alive() {
		t.Error("an ended process is reported as running")
	}
}

func TestStateIsReadBack(t *testing.T) {
	dir := t.TempDir()
	if s, err := readState(dir); s != nil || err != nil {
		t.Fatalf("an empty directory is reported as a lab: %v, %v", s, err)
	}
	options, err := Options{Dir: dir, Machines: 2, Cloud: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := (&state{Options: options, PID: 1, Began: "2"}).write(); err != nil {
		t.Fatal(err)
	}
	if err := mustBeEmpty(dir); err == nil {
		t.Error("the supervisor is not recognized")
	}
	s, err := readState(dir)
	if err != nil || s.PID != 1 || s.Began != "2" || s.Options.Machines != 2 || !s.Options.Cloud {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := s.removeFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := mustBeEmpty(dir); err != nil {
		t.Error(err)
	}
}

func TestNewLabIsRefusedWhileAnotherRuns(t *testing.T) {
	t.Setenv("USE_EXISTING_CLUSTER", "")
	pid := os.Getpid()
	when, err := began(pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		state   *state
		refused bool
	}{
		"no lab":            {nil, false},
		"the lab has ended": {&state{PID: pid, Began: "before"}, false},
		"the lab runs":      {&state{PID: pid, Began: when}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), New: true}
			if tc.state != nil {
				tc.state.Options = o
				if err := tc.state.write(); err != nil {
					t.Fatal(err)
				}
			}
			if err := MustNotBeUp(o); (err != nil) != tc.refused {
				t.Errorf("got %v", err)
			}
			if !tc.refused {
				return
			}
			if _, err := Up(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Dir) || !strings.Contains(err.Error(), "make lab-down") {
				t.Errorf("the running lab is accepted as the new one: %v", err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		zones   []string // of the first machines
		err     string
	}{
		"no options":                    {zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"}},
		"fewer machines than zones":     {options: Options{Machines: 2}, zones: []string{"us-east-1a", "us-east-1b"}},
		"more machines than zones":      {options: Options{Machines: 3, Zones: 2}, zones: []string{"us-east-1a", "us-east-1b", "us-east-1a"}},
		"more zones than have networks": {options: Options{Zones: 4}, err: "at most"},
		"a path too long for a socket":  {options: Options{Dir: filepath.Join(os.TempDir(), strings.Repeat("x", 100))}, err: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := c.options.withDefaults()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var zones []string
			for _, m := range o.FirstMachines() {
				zones = append(zones, m.Zone)
			}
			if strings.Join(zones, " ") != strings.Join(c.zones, " ") {
				t.Errorf("machines are in %v, want %v", zones, c.zones)
			}
		})
	}
}
