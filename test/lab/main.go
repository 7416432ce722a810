package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hack/progress/screen"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
	"github.com/hosted-control-planes/hypershift/test/lab/networkpolicy"
)

const usage = `usage: lab up [--machines N] [--zones N] [--memory MiB] [--cloud=false] [--instant-volumes] [--idle-timeout 350s] | down | status | kubeconfig [--second] [NAMESPACE NAME]
       lab machine add NAME [--zone ZONE] [--memory MiB] [--type TYPE] [--instance-id ID] [--join KUBECONFIG] | stop NAME | start NAME | force-stop NAME | kill NAME | remove NAME | clock NAME 10m
       every command takes --dir, the directory of the lab`

// commands are for users; the commands that the lab runs itself are in inside.go.
var commands = map[string]func(context.Context, *arguments) error{
	"up":         up,
	"down":       down,
	"status":     status,
	"kubeconfig": kubeconfig,
	"machine":    machineCommand,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if filepath.Base(os.Args[0]) == networkpolicy.PluginName {
		// The container runtime runs this program as a CNI plugin, and reads errors from its output.
		if networkpolicy.RunPlugin(ctx, os.Getenv, os.Stdin, os.Stdout) != nil {
			stop()
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	if inside, ok := insides[args[0]]; ok {
		return inside(ctx, args[1:])
	}
	command, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
	return command(ctx, newArguments(args[0], args[1:]))
}

// arguments are flags and the words between them.
type arguments struct {
	*flag.FlagSet
	args []string
	dir  string
}

func newArguments(command string, args []string) *arguments {
	a := &arguments{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), args: args}
	a.SetOutput(io.Discard)
	a.StringVar(&a.dir, "dir", "", "directory of the lab")
	return a
}

// words parses the flags, wherever they are, and returns the other words. Their number must be one of numbers.
func (a *arguments) words(numbers ...int) ([]string, error) {
	var words []string
	for rest := a.args; ; {
		if err := a.Parse(rest); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, usage)
		}
		if rest = a.Args(); len(rest) == 0 {
			break
		}
		words, rest = append(words, rest[0]), rest[1:]
	}
	if !slices.Contains(numbers, len(words)) {
		return nil, errors.New(usage)
	}
	return words, nil
}

func (a *arguments) options() cluster.Options {
	return cluster.Options{Dir: a.dir, Progress: os.Stderr}
}

func up(ctx context.Context, a *arguments) error {
	o := cluster.Options{}
	a.IntVar(&o.Machines, "machines", 0, "how many machines")
	a.IntVar(&o.Zones, "zones", 0, "in how many zones")
	a.IntVar(&o.MemoryMiB, "memory", 0, "memory of each in MiB")
	a.BoolVar(&o.Cloud, "cloud", true, "with AWS, emulated")
	a.DurationVar(&o.IdleTimeout, "idle-timeout", 0, "how long load balancers keep a connection without packets")
	a.BoolVar(&o.InstantVolumes, "instant-volumes", false, "attach volumes at once, to measure")
	if _, err := a.words(0); err != nil {
		return err
	}
	shown, err := builds()
	if err != nil {
		return err
	}
	defer shown.Clear()
	o.Dir, o.Progress = a.dir, shown
	if o.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	lab, err := cluster.Up(ctx, o)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", lab.Kubeconfig)
	return nil
}

// builds shows how far the builds of a lab are that are missing.
func builds() (*screen.Screen, error) {
	missing, err := cluster.Steps()
	if err != nil {
		return nil, err
	}
	shown, err := screen.On(os.Stderr, missing...)
	if err != nil {
		return nil, err
	}
	shown.Times = true
	return shown, nil
}

func down(ctx context.Context, a *arguments) error {
	if _, err := a.words(0); err != nil {
		return err
	}
	return cluster.Down(ctx, a.options())
}

// kubeconfig prints the path of the kubeconfig of a management cluster, or of its HostedCluster with that namespace and name.
func kubeconfig(ctx context.Context, a *arguments) error {
	second := a.Bool("second", false, "of the second management cluster")
	words, err := a.words(0, 2)
	if err != nil {
		return err
	}
	lab, err := cluster.Find(ctx, a.options())
	if err != nil {
		return err
	}
	if *second {
		if lab, err = lab.FindSecond(ctx); err != nil {
			return err
		}
	}
	path := lab.Kubeconfig
	if len(words) == 2 {
		h := &hosting.Hosting{Lab: lab}
		if path, err = h.AdminKubeconfig(ctx, client.ObjectKey{Namespace: words[0], Name: words[1]}); err != nil {
			return err
		}
	}
	fmt.Println(path)
	return nil
}

func machineCommand(ctx context.Context, a *arguments) error {
	m := cluster.MachineOptions{}
	join := a.String("join", "", "kubeconfig of the cluster that it joins")
	a.StringVar(&m.Zone, "zone", "", "availability zone")
	a.StringVar(&m.InstanceType, "type", "", "instance type")
	a.StringVar(&m.InstanceID, "instance-id", "", "instance id")
	a.IntVar(&m.MemoryMiB, "memory", 0, "memory in MiB")
	words, err := a.words(2, 3)
	if err != nil {
		return err
	}
	if (len(words) == 3) != (words[0] == "clock") {
		return errors.New(usage)
	}
	lab, err := cluster.Find(ctx, a.options())
	if err != nil {
		return err
	}
	m.Name = words[1]
	switch words[0] {
	case "add":
		if *join != "" {
			text, err := os.ReadFile(*join)
			if err != nil {
				return fmt.Errorf("reading the kubeconfig to join: %w", err)
			}
			m.Join = string(text)
		}
		return lab.AddMachine(ctx, m)
	case "start":
		return lab.StartMachine(ctx, m.Name)
	case "stop":
		return lab.StopMachine(ctx, m.Name)
	case "force-stop":
		return lab.ForceStopMachine(ctx, m.Name)
	case "kill":
		return lab.KillMachine(ctx, m.Name)
	case "clock":
		by, err := time.ParseDuration(words[2])
		if err != nil {
			return fmt.Errorf("parsing how wrong the clock is: %w", err)
		}
		return lab.SetClock(ctx, m.Name, by)
	case "remove":
		return lab.RemoveMachine(ctx, m.Name)
	}
	return fmt.Errorf("unknown machine command %s\n%s", words[0], usage)
}
