package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/test/lab/machine"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
	"github.com/hosted-control-planes/hypershift/test/lab/supervisor"
)

// insides are the commands with which this program calls itself inside the lab:
//
//	pid1 lab DIR      ─► becomes ─► reap supervise DIR ─► runs ─► supervise DIR
//	pid1 machine DIR  ─► becomes ─► reap agent DIR     ─► runs ─► agent DIR
var insides = map[string]func(context.Context, []string) error{
	"pid1": func(_ context.Context, args []string) error {
		switch what, dir := args[0], args[1]; what {
		case "lab":
			return supervisor.Boot(dir, myself(dir), "reap", "supervise", dir)
		case "machine":
			return machine.Boot(dir, myself(filepath.Dir(filepath.Dir(dir))), "reap", "agent", dir)
		}
		return errors.New(usage)
	},
	"reap": func(_ context.Context, args []string) error {
		code, err := namespace.Reap(os.Args[0], args...)
		if err != nil {
			return err
		}
		os.Exit(code)
		return nil
	},
	"supervise": func(ctx context.Context, args []string) error { return supervisor.Run(ctx, args[0]) },
	"agent":     func(ctx context.Context, args []string) error { return machine.Run(ctx, args[0]) },
}

// myself is the copy of this program in the directory of a lab.
func myself(lab string) string { return filepath.Join(lab, "bin", "lab") }
