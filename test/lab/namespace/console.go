package namespace

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Console is the terminal of a pid 1 that needs one. Its output goes to a log.
type Console struct {
	// Terminal is the end for pid 1.
	Terminal *os.File
	keyboard *os.File
	copied   chan error
}

// OpenConsole makes a terminal.
func OpenConsole(log io.WriteCloser) (*Console, error) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a console: %w", err)
	}
	// Fd makes the file blocking, and Close would not end a read of it.
	number, err := unix.IoctlGetUint32(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	var terminal *os.File
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening a console: %w", err), keyboard.Close())
	}
	c := &Console{Terminal: terminal, keyboard: keyboard, copied: make(chan error, 1)}
	go func() {
		_, err := io.Copy(log, keyboard)
		if errors.Is(err, unix.EIO) { // every process has closed the terminal
			err = nil
		}
		c.copied <- errors.Join(err, log.Close())
	}()
	return c, nil
}

// Close closes the console, after its last process has ended, and returns when the log is complete.
func (c *Console) Close() error {
	err := c.Terminal.Close()
	return errors.Join(err, <-c.copied, c.keyboard.Close())
}
