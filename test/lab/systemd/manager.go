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

// Options are the directories of a Manager.
type Options struct {
	// Units are the directories with units in order of precedence, and Presets those with the presets.
	Units, Presets []string
	// Logs takes a log file for each service, Run the notification sockets of services.
	Logs, Run string
	Clock     clock.WithTicker
	Log       *slog.Logger
}

// Manager runs units.
type Manager struct {
	Options
	log     *slog.Logger
	running sync.WaitGroup
	// up has a channel for each enabled unit, which is closed when the unit has started.
	up map[string]chan struct{}
}

// Start starts all enabled units, until ctx ends. It returns an error if a unit cannot be started.
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

// Wait returns when all units have ended.
func (m *Manager) Wait() { m.running.Wait() }

// enabled are the units that the presets enable.
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
	return fmt.Errorf("unsupported type of unit")
}

// after waits for the units in After= of a unit.
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

// service is the service that another unit starts.
func (m *Manager) service(name string) (*service, error) {
	u, err := load(name, m.Units)
	if err != nil {
		return nil, err
	}
	return &service{unit: u, o: m.Options, log: m.log}, nil
}

// other is the unit of another type with the same name.
func other(name, kind string) string { return strings.TrimSuffix(name, path.Ext(name)) + "." + kind }
