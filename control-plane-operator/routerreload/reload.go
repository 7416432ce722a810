package routerreload

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/selfcopy"
)

// Command is the name of the subcommand.
const Command = "router-reload"

const (
	// pause is the interval between two reads of the file.
	pause = 2 * time.Second
	// again is the time after which a rejected configuration is retried.
	again = time.Minute
	// loads is the timeout of a reload.
	loads = 10 * time.Second
)

// Reloader reloads one HAProxy when its file changes.
type Reloader struct {
	config string
	master master
	// install is the path of the copy of this program for the preStop hook of HAProxy's container. Empty means no copy.
	install string
	clock   clock.Clock

	// refused is the rejected configuration, and retry the time of the next attempt to load it.
	refused []byte
	retry   time.Time

	maps maps
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Reloader, error) {
	r := &Reloader{clock: clock.RealClock{}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&r.config, "config", "", "the file that HAProxy reads")
	fs.StringVar((*string)(&r.master), "master", "", "the socket of HAProxy's master process")
	fs.StringVar(&r.install, "install", "", "where to put a copy of this program, in a volume that HAProxy's container mounts; its preStop hook runs it as "+DrainCommand)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if r.config == "" || r.master == "" {
		return nil, errors.New("--config or --master is missing")
	}
	return r, nil
}

// Run works until ctx ends.
func (r *Reloader) Run(ctx context.Context) error {
	if r.install != "" {
		if err := selfcopy.Install(r.install); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		r.reloadIfChanged(ctx)
		r.maps.update(ctx, r.master, r.config)
		sleep(ctx, r.clock, pause)
	}
	return nil
}

// reloadIfChanged reloads HAProxy if its configuration differs from the file.
func (r *Reloader) reloadIfChanged(ctx context.Context) {
	want, err := os.ReadFile(r.config)
	if err != nil || bytes.Equal(want, r.refused) && r.clock.Now().Before(r.retry) {
		return // the kubelet has not written the file yet, or HAProxy has rejected it
	}
	running, err := r.master.running(ctx)
	if err != nil || running == description(want) {
		return // HAProxy is starting and reads the file itself
	}
	log := logr.FromContextOrDiscard(ctx)
	log.Info("Reloading HAProxy", "from", running, "to", description(want))
	if err := r.reload(ctx, description(want)); err != nil {
		log.Error(err, "HAProxy continues with its previous configuration; see the log of HAProxy for the reason")
		r.refused, r.retry = want, r.clock.Now().Add(again)
	}
}

// reload returns when a worker with the new configuration accepts connections.
func (r *Reloader) reload(ctx context.Context, want string) error {
	deadline := r.clock.Now().Add(loads)
	if _, err := r.master.command(ctx, "reload"); err != nil {
		return err
	}
	for r.clock.Now().Before(deadline) && ctx.Err() == nil {
		if running, err := r.master.running(ctx); err == nil && running == want {
			return nil
		}
		sleep(ctx, r.clock, loads/20)
	}
	return errors.New("HAProxy did not load the configuration")
}

// description returns the description in the configuration.
func description(config []byte) string {
	for line := range strings.Lines(string(config)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "description" {
			return fields[1]
		}
	}
	return ""
}
