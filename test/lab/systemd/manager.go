package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/utils/clock"
)

// Options say where things are.
type Options struct {
	// Units are the directories with units, the most important first, and Presets those with what is enabled.
	Units, Presets []string
	// Logs gets a file per service, Run the sockets on which services say that they are ready.
	Logs, Run string
	Clock     clock.WithTicker
	Log       *slog.Logger
}

// Manager runs units.
type Manager struct {
	Options
	log     *slog.Logger
	running sync.WaitGroup
	// up has a channel for each unit that is enabled, which is closed when it is up.
	up map[string]chan struct{}
}

// Start starts everything that is enabled, until ctx ends. What cannot be started is an error.
func Start(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{Options: o, log: o.Log, up: map[string]chan struct{}{}}
	enabled, err := m.enabled()
	if err != nil {
		return nil, err
	}
	for _, name := range enabled {
		m.up[name] = make(chan struct{})
	}
	for _, name := range enabled {
		u, err := load(name, o.Units)
		if err == nil {
			err = m.start(ctx, u)
		}
		if err != nil {
			return nil, fmt.Errorf("starting unit %s: %w", name, err)
		}
	}
	return m, nil
}

// Wait returns when all of them have ended.
func (m *Manager) Wait() { m.running.Wait() }

// enabled are the units that presets enable.
func (m *Manager) enabled() ([]string, error) {
	var units []string
	for _, dir := range m.Presets {
		files, err := filepath.Glob(filepath.Join(dir, "*.preset"))
		if err != nil {
			return nil, fmt.Errorf("looking for presets: %w", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading presets: %w", err)
			}
			for line := range strings.Lines(string(text)) {
				if unit, yes := strings.CutPrefix(strings.TrimSpace(line), "enable "); yes {
					units = append(units, unit)
				}
			}
		}
	}
	return units, nil
}

func (m *Manager) start(ctx context.Context, u *unit) error {
	switch path.Ext(u.name) {
	case ".socket":
		return m.runSocket(ctx, u)
	case ".path":
		return m.runPath(ctx, u)
	case ".timer":
		return m.runTimer(ctx, u)
	case ".service":
		s := &service{unit: u, o: m.Options, log: m.log}
		m.running.Go(func() {
			if m.after(ctx, u) {
				s.run(ctx, sync.OnceFunc(func() { close(m.up[u.name]) }))
			}
		})
		return nil
	}
	return fmt.Errorf("it is of a kind that is not understood here")
}

// after waits for the units after which one starts.
func (m *Manager) after(ctx context.Context, u *unit) bool {
	for _, name := range u.words("Unit.After") {
		up, known := m.up[name]
		if !known || path.Ext(name) != ".service" {
			continue
		}
		select {
		case <-ctx.Done():
			return false
		case <-up:
		}
	}
	return true
}

// service is one that something else starts.
func (m *Manager) service(name string) (*service, error) {
	u, err := load(name, m.Units)
	if err != nil {
		return nil, err
	}
	return &service{unit: u, o: m.Options, log: m.log}, nil
}

// other is the unit of another kind with the same name.
func other(name, kind string) string { return strings.TrimSuffix(name, path.Ext(name)) + "." + kind }
