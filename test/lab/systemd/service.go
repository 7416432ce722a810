package systemd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// service runs the processes of one unit.
type service struct {
	*unit
	o   Options
	log *slog.Logger
	// listening is the listening socket of its socket unit, if any.
	listening *os.File
}

// run starts the service, reports when it is up, and restarts it according to Restart=, until ctx ends.
func (s *service) run(ctx context.Context, up func()) {
	for {
		err := s.once(ctx, up)
		if ctx.Err() != nil {
			return
		}
		s.log.Info("Ended", "unit", s.name, "err", err)
		if !s.again(err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.o.Clock.After(s.pause()):
		}
	}
}

func (s *service) again(err error) bool {
	switch s.last("Service.Restart") {
	case "always":
		return true
	case "on-failure":
		return err != nil
	}
	return false
}

// pause is the delay before a restart.
func (s *service) pause() time.Duration {
	if d, err := span(s.last("Service.RestartSec")); err == nil {
		return d
	}
	return 100 * time.Millisecond
}

// once runs the service once.
func (s *service) once(ctx context.Context, up func()) error {
	for _, line := range s.values["Service.ExecStartPre"] {
		if err := s.command(ctx, line, nil); err != nil {
			return err
		}
	}
	oneshot := s.last("Service.Type") == "oneshot"
	for _, line := range s.values["Service.ExecStart"] {
		started := up
		if oneshot {
			started = nil
		}
		if err := s.command(ctx, line, started); err != nil {
			return err
		}
	}
	if oneshot {
		up()
		if s.last("Service.RemainAfterExit") == "yes" {
			<-ctx.Done()
		}
	}
	return nil
}

// command runs a command line until it ends. started is called when it is up: for Type=notify, after its notification.
func (s *service) command(ctx context.Context, line string, started func()) error {
	line, mayFail := strings.CutPrefix(line, "-")
	env, err := s.environment()
	if err != nil {
		return err
	}
	words, err := split(line)
	if err != nil {
		return err
	}
	words = expand(words, env)
	if started != nil && s.last("Service.Type") == "notify" {
		socket, err := s.notifySocket(started)
		if err != nil {
			return err
		}
		defer func() { _ = socket.Close() }() // nothing was written
		env["NOTIFY_SOCKET"], started = socket.LocalAddr().String(), nil
	}
	if err := s.exec(ctx, words, env, started); err != nil && !mayFail {
		return fmt.Errorf("running %s: %w", words[0], err)
	}
	return nil
}

// environment is the environment of its processes. It is that of systemd, and does not inherit that of the machine's
// parent.
func (s *service) environment() (map[string]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
	for _, line := range s.values["Service.Environment"] {
		words, err := split(line)
		if err != nil {
			return nil, err
		}
		for _, w := range words {
			key, value, _ := strings.Cut(w, "=")
			env[key] = value
		}
	}
	for _, file := range s.values["Service.EnvironmentFile"] {
		if err := readEnvironment(file, env); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// grace is the time between SIGTERM and SIGKILL.
const grace = 5 * time.Second

func (s *service) exec(ctx context.Context, words []string, env map[string]string, started func()) error {
	log, err := os.OpenFile(filepath.Join(s.o.Logs, s.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	if s.listening != nil {
		// LISTEN_PID is the process's own pid, so that its children ignore the socket.
		words = append([]string{"/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh"}, words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	if s.listening != nil {
		cmd.ExtraFiles = []*os.File{s.listening}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := s.tellPID(cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	if started != nil {
		started()
	}
	return cmd.Wait()
}

// tellPID writes the pid file with which other programs, such as systemctl, find the process.
func (s *service) tellPID(pid int) error {
	return os.WriteFile(filepath.Join(s.o.Run, s.name+".pid"), []byte(strconv.Itoa(pid)), 0o644)
}

// notifySocket creates the notification socket of a process.
func (s *service) notifySocket(ready func()) (*net.UnixConn, error) {
	path := filepath.Join(s.o.Run, s.name+".notify")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening to %s: %w", s.name, err)
	}
	go func() {
		for message := make([]byte, 4096); ; {
			n, err := socket.Read(message)
			if err != nil {
				return // closed with the process
			}
			if slices.Contains(strings.Split(string(message[:n]), "\n"), "READY=1") {
				ready()
			}
		}
	}()
	return socket, nil
}
