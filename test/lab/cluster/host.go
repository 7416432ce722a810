package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
)

// limits are limits of the whole host that a lab of several machines and control planes exceeds: each program that watches
// files uses an inotify instance, and the default is 128.
var limits = map[string]int{
	"/proc/sys/fs/inotify/max_user_instances": 8192,
	"/proc/sys/fs/inotify/max_user_watches":   524288,
}

// prepareHost changes the settings that a lab needs, after their previous values have been recorded.
func (s *state) prepareHost() error {
	system, err := cgroup.Detect(cgroup.Family(s.Options.Dir))
	if err != nil {
		return err
	}
	if s.Settings, err = system.Host(); err != nil {
		return err
	}
	for file, enough := range limits {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		before := strings.TrimSpace(string(text))
		if have, err := strconv.Atoi(before); err == nil && have < enough {
			s.Settings = append(s.Settings, cgroup.Setting{File: file, Value: strconv.Itoa(enough), Before: before})
		}
	}
	if err := s.write(); err != nil {
		return err
	}
	for _, setting := range s.Settings {
		if err := os.WriteFile(setting.File, []byte(setting.Value), 0o644); err != nil {
			return fmt.Errorf("setting %s to %s: %w", setting.File, setting.Value, err)
		}
	}
	return nil
}

// restoreHost restores the settings of the host.
func (s *state) restoreHost(context.Context) error { return s.restore(os.WriteFile) }

// restore keeps settings that are in use by others meanwhile: the kernel does not remove a controller that children of
// the cgroup use.
func (s *state) restore(write func(file string, text []byte, _ fs.FileMode) error) error {
	for _, setting := range s.Settings {
		if err := write(setting.File, []byte(setting.Before), 0o644); err != nil && !errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("setting %s back to %s: %w", setting.File, setting.Before, err)
		}
	}
	return nil
}
