package restore

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// silence is how long a server may send nothing. A large snapshot takes as long
// as it takes, while a connection of which nothing comes would never end.
const silence = time.Minute

var errSilent = errors.New("the server has sent nothing for " + silence.String())

// A stream is what a server sends, until it has been silent for too long.
type stream struct {
	body  io.ReadCloser
	timer clock.Timer
	stop  context.CancelCauseFunc
	why   func() error
}

// listen returns a context for a request, and a stream for the body of its
// answer. The answer itself must not be long in coming, either.
func listen(ctx context.Context, c clock.WithDelayedExecution) (context.Context, *stream) {
	ctx, stop := context.WithCancelCause(ctx)
	return ctx, &stream{
		timer: c.AfterFunc(silence, func() { stop(errSilent) }),
		stop:  stop,
		why:   func() error { return context.Cause(ctx) },
	}
}

// Read waits for more. How long its reader has taken is not the server's fault.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(silence)
	n, err := s.body.Read(p)
	s.timer.Stop()
	return n, s.cause(err)
}

// cause is that the server was silent, if it is for this that the request has failed.
func (s *stream) cause(err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(s.why(), errSilent) {
		return errSilent
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
