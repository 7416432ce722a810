package systemd

import (
	"context"
	"os"
	"time"
)

// runPath waits until a file exists, and starts the service of the same name.
func (m *Manager) runPath(ctx context.Context, u *unit) error {
	s, err := m.service(other(u.name, "service"))
	if err != nil {
		return err
	}
	m.running.Go(func() {
		again := m.Clock.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			if _, err := os.Stat(u.last("Path.PathExists")); err == nil {
				s.run(ctx, func() {})
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C():
			}
		}
	})
	return nil
}
