package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// runSocket listens, and starts the service of the same name at the first connection, and again after it has ended.
func (m *Manager) runSocket(ctx context.Context, u *unit) error {
	before := &service{unit: u, o: m.Options, log: m.log}
	for _, line := range u.values["Socket.ExecStartPre"] {
		if err := before.command(ctx, line, nil); err != nil {
			return err
		}
	}
	address, err := net.ResolveTCPAddr("tcp", u.last("Socket.ListenStream"))
	if err != nil {
		return fmt.Errorf("reading where %s listens: %w", u.name, err)
	}
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return fmt.Errorf("listening for %s: %w", u.name, err)
	}
	file, err := listener.File() // a duplicate
	if err := errors.Join(err, listener.Close()); err != nil {
		return fmt.Errorf("listening for %s: %w", u.name, err)
	}
	s, err := m.service(other(u.name, "service"))
	if err != nil {
		file.Close()
		return err
	}
	s.listening = file
	m.running.Go(func() {
		defer file.Close()
		for called(ctx, file) {
			s.run(ctx, func() {})
		}
	})
	return nil
}

// called waits for a connection. It does not accept it: the service does.
func called(ctx context.Context, file *os.File) bool {
	const moment = 100 // milliseconds; the poll does not return when ctx ends
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, moment); err == nil && n > 0 {
			return true
		}
	}
	return false
}
