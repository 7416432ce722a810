package restore

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// idleTimeout is the longest time in which a server may send no data. A large snapshot may take a long time, but a stalled
// connection would never end.
const idleTimeout = time.Minute

var errIdle = errors.New("the server has sent nothing for " + idleTimeout.String())

// A stream is the body of a response. It fails after the server has sent no data for too long.
type stream struct {
	body  io.ReadCloser
	timer clock.Timer
	stop  context.CancelCauseFunc
	why   func() error
}

// listen returns a context for a request, and a stream for the body of the response. The time-out applies to the
// response headers, too.
func listen(ctx context.Context, c clock.WithDelayedExecution) (context.Context, *stream) {
	ctx, stop := context.WithCancelCause(ctx)
	return ctx, &stream{
		timer: c.AfterFunc(idleTimeout, func() { stop(errIdle) }),
		stop:  stop,
		why:   func() error { return context.Cause(ctx) },
	}
}

// Read waits for more data. The time that the reader needs in between does not count.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(idleTimeout)
	n, err := s.body.Read(p)
	s.timer.Stop()
	return n, s.cause(err)
}

// cause returns errIdle if the request failed because of the time-out.
func (s *stream) cause(err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(s.why(), errIdle) {
		return errIdle
	}
	return err
}

func (s *stream) Close() error {
	defer s.end()
	return s.body.Close()
}

func (s *stream) end() {
	s.timer.Stop()
	s.stop(nil)
}
