package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// limits are sysctls of the whole host that a lab of several machines and control planes reaches: each program that watches a
// file has an inotify instance, and the default is 128.
var limits = map[string]int{
	"fs/inotify/max_user_instances": 8192,
	"fs/inotify/max_user_watches":   524288,
}

func sysctl(name string) string { return filepath.Join("/proc/sys", name) }

// raiseLimits raises what is too low, after it has been written down what it was.
func (s *state) raiseLimits() error {
	s.Sysctls = map[string]string{}
	for name, enough := range limits {
		text, err := os.ReadFile(sysctl(name))
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		value := strings.TrimSpace(string(text))
		if have, err := strconv.Atoi(value); err == nil && have < enough {
			s.Sysctls[name] = value
		}
	}
	if err := s.write(); err != nil {
		return err
	}
	for name := range s.Sysctls {
		if err := os.WriteFile(sysctl(name), []byte(strconv.Itoa(limits[name])), 0o644); err != nil {
			return fmt.Errorf("raising %s: %w", name, err)
		}
	}
	return nil
}

func (s *state) restoreLimits(context.Context) error {
	for name, value := range s.Sysctls {
		if err := os.WriteFile(sysctl(name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("restoring %s: %w", name, err)
		}
	}
	return nil
}
