// Package logs configures the logs of the operators: a line is an object of keys and values, with the controller and the
// reconciled object.
//
// The highest level stays below the one at which client-go logs the bodies of requests, which contain Secrets.
package logs

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// levels are the values of --log-level, in the scale of zap: lower levels log more. Bodies of requests start at -8
// (k8s.io/client-go/rest).
var levels = map[string]zapcore.Level{"error": zapcore.ErrorLevel, "info": zapcore.InfoLevel, "debug": -5}

// formats are the values of --log-format. Times are in the format of RFC 3339, which collectors of logs recognize.
var formats = map[string]zap.Opts{"json": zap.JSONEncoder(readableTimes), "text": zap.ConsoleEncoder(readableTimes)}

func readableTimes(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder }

// Options are the flags.
type Options struct{ level, format string }

// Bind adds the flags.
func (o *Options) Bind(fs *flag.FlagSet) {
	fs.Func("log-level", "how much to log: error, info or debug (default info)", choose(&o.level, "info", levels))
	fs.Func("log-format", "how to log: json, or text for people (default json)", choose(&o.format, "json", formats))
}

func choose[T any](into *string, otherwise string, values map[string]T) func(string) error {
	*into = otherwise
	return func(value string) error {
		if _, exists := values[value]; !exists {
			return fmt.Errorf("use one of %s", strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		*into = value
		return nil
	}
}

// Logger returns a logger that writes to w.
func (o *Options) Logger(w io.Writer) logr.Logger {
	return zap.New(zap.WriteTo(w), zap.Level(levels[o.level]), formats[o.format], zap.StacktraceLevel(zapcore.PanicLevel))
}

// Use makes it the logger of this process and of its libraries.
func Use(l logr.Logger) {
	ctrl.SetLogger(l)
	klog.SetLogger(l)
}
