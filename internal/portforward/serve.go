package portforward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Serve accepts connections and forwards each one to the connection that dial returns, until the context ends. report gets the errors of
// connections, which do not end the others.
func Serve(ctx context.Context, listener net.Listener, dial func(context.Context) (net.Conn, error), report func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		local, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting connections on %s: %w", listener.Addr(), err)
		}
		serving.Go(func() {
			if err := forward(ctx, local, dial); err != nil && ctx.Err() == nil {
				report(err)
			}
		})
	}
}

func forward(ctx context.Context, local net.Conn, dial func(context.Context) (net.Conn, error)) error {
	defer local.Close()
	remote, err := dial(ctx)
	if err != nil {
		return err
	}
	return Join(ctx, local, remote)
}

// Join copies between two connections until one of them or the context ends, and closes both: a WebSocket cannot close one direction, and
// TLS does not need that.
func Join(ctx context.Context, a, b net.Conn) (err error) {
	defer a.Close()
	defer b.Close()
	done := make(chan error, 2)
	go func() { _, err := io.Copy(b, a); done <- err }()
	go func() { _, err := io.Copy(a, b); done <- err }()
	select {
	case err = <-done:
	case <-ctx.Done():
		return nil
	}
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
