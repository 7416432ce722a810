package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodeconfig/nodeconfigtest"
	"github.com/hosted-control-planes/hypershift/test/lab/systemd"
)

// Ignition writes these files in addition to the files of the user data.
const (
	ignitionUnits   = "/etc/systemd/system"
	ignitionPresets = "/etc/systemd/system-preset"
)

// ignite fills the disk at the first boot, with the machine image and the user data.
func (a *agent) ignite(context.Context) error {
	done := a.path("ignited")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := a.installImage(); err != nil {
		return err
	}
	text, err := a.userData()
	if err != nil {
		return err
	}
	node, err := nodeconfigtest.Read(text)
	if err != nil {
		return err
	}
	for path, content := range node.Files {
		if err := install(path, content, node.Modes[path]); err != nil {
			return err
		}
	}
	for name, content := range node.Units {
		if content == "" {
			continue // a unit of the image
		}
		if err := install(filepath.Join(ignitionUnits, name), content, 0o644); err != nil {
			return err
		}
	}
	var presets strings.Builder
	for _, unit := range node.Enabled {
		fmt.Fprintf(&presets, "enable %s\n", unit)
	}
	if err := install(filepath.Join(ignitionPresets, "20-ignition.preset"), presets.String(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// writable are the directories that belong to the instance alone.
var writable = []string{"/etc/", "/opt/", "/var/", "/run/"}

func install(path, content string, mode os.FileMode) error {
	own := false
	for _, dir := range writable {
		own = own || strings.HasPrefix(filepath.Clean(path), dir)
	}
	if !own {
		return fmt.Errorf("writing %s: the image has only %s to write to", path, strings.Join(writable, " "))
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		// Chmod sets a mode independent of the umask.
		err = errors.Join(os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// startUnits starts the units that the user data has enabled.
func (a *agent) startUnits(ctx context.Context) error {
	m, err := systemd.Start(ctx, systemd.Options{
		Units: []string{ignitionUnits, imageUnits}, Presets: []string{ignitionPresets},
		Logs: a.path("logs"), Run: "/run", Clock: clock.RealClock{}, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.servers.Go(m.Wait)
	return nil
}
