package systemd

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// runTimer starts its service, by default the one of the same name, after a delay, and again after each start.
func (m *Manager) runTimer(ctx context.Context, u *unit) error {
	s, err := m.service(cmp.Or(u.last("Timer.Unit"), other(u.name, "service")))
	if err != nil {
		return err
	}
	spans := map[string]time.Duration{}
	for _, key := range []string{"Timer.OnActiveSec", "Timer.OnUnitActiveSec", "Timer.RandomizedDelaySec"} {
		if spans[key], err = span(u.last(key)); err != nil {
			return err
		}
	}
	m.running.Go(func() {
		for pause := spans["Timer.OnActiveSec"]; ; {
			late := rand.N(spans["Timer.RandomizedDelaySec"] + 1) //nolint:gosec // it need not be unpredictable
			select {
			case <-ctx.Done():
				return
			case <-m.Clock.After(pause + late):
			}
			pause = spans["Timer.OnUnitActiveSec"]
			s.run(ctx, func() {})
		}
	})
	return nil
}

// span parses a time span; the default unit is a second. Nothing is no time.
func span(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	for _, written := range []string{strings.ReplaceAll(text, "min", "m"), text + "s"} {
		if d, err := time.ParseDuration(written); err == nil {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%q is no length of time", text)
}
