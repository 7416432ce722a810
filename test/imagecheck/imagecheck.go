// Package imagecheck compares pods with the images that projects publish: hack/payload/publishedimages. It finds problems that otherwise
// only a container runtime on a real node reports:
//
//	image        is in the table
//	user         is a number, and not root where root is forbidden
//	command      is a program of the image or of a volume; a shell is in the image
//	capabilities of the program are in the bounding set of the container: otherwise Linux does not start it
//	directories  that the program writes are volumes if the root file system is read-only
//
// Commands are the commands of the container, of its probes and of its hooks.
package imagecheck

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
)

// defaultCapabilities is the bounding set that containerd gives a container that names none: oci/spec.go, defaultUnixCaps.
var defaultCapabilities = []publishedimages.Capability{
	"CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT",
	"KILL", "AUDIT_WRITE",
}

// shells are names of programs that interpret commands.
var shells = []string{"sh", "bash", "ash", "dash"}

// Pod returns the problems of each container of a pod. find returns the published image for the image of a container.
func Pod(pod *corev1.PodSpec, find func(image string) (publishedimages.Image, bool)) []string {
	var problems []string
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		image, found := find(c.Image)
		if !found {
			problems = append(problems, fmt.Sprintf("%s: image %s is not in the table of published images", c.Name, c.Image))
			continue
		}
		for _, problem := range (container{Container: c, pod: pod, image: image}).problems() {
			problems = append(problems, c.Name+": "+problem)
		}
	}
	return problems
}

// container is a container with its pod and its image.
type container struct {
	corev1.Container
	pod   *corev1.PodSpec
	image publishedimages.Image
}

func (c container) problems() []string {
	problems := c.user()
	for _, command := range append(c.hooks(), c.argv()) {
		problems = append(problems, c.executable(command)...)
	}
	return problems
}

// user compares runAsNonRoot with the user, as the kubelet does before it starts a container.
func (c container) user() []string {
	nonRoot, user := false, c.image.Config().User
	if s := c.pod.SecurityContext; s != nil {
		nonRoot = ptr.Deref(s.RunAsNonRoot, false)
		if s.RunAsUser != nil {
			user = strconv.FormatInt(*s.RunAsUser, 10)
		}
	}
	if s := c.SecurityContext; s != nil {
		nonRoot = ptr.Deref(s.RunAsNonRoot, nonRoot)
		if s.RunAsUser != nil {
			user = strconv.FormatInt(*s.RunAsUser, 10)
		}
	}
	user, _, _ = strings.Cut(user, ":")
	number, err := strconv.ParseInt(user, 10, 64)
	switch {
	case !nonRoot:
		return nil
	case user == "" || err == nil && number == 0:
		return []string{"runAsNonRoot is set, and the container runs as root"}
	case err != nil:
		return []string{fmt.Sprintf("runAsNonRoot is set, and the user %q of the image is not a number", user)}
	}
	return nil
}

// argv returns the command that the runtime starts.
func (c container) argv() []string {
	config := c.image.Config()
	switch {
	case len(c.Command) > 0:
		return slices.Concat(c.Command, c.Args)
	case len(c.Args) > 0:
		return slices.Concat(config.Entrypoint, c.Args)
	}
	return slices.Concat(config.Entrypoint, config.Command)
}

// hooks are the commands of probes and hooks.
func (c container) hooks() [][]string {
	var commands [][]string
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && p.Exec != nil {
			commands = append(commands, p.Exec.Command)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil && h.Exec != nil {
				commands = append(commands, h.Exec.Command)
			}
		}
	}
	return commands
}

// executable checks the programs of a command: its first word, the program that a runner runs, and the word after "--".
func (c container) executable(argv []string) []string {
	if len(argv) == 0 {
		return []string{"neither the pod nor the image has a command"}
	}
	program, problem := c.lookup(argv[0])
	if problem != "" {
		return []string{problem}
	}
	rest := argv[1:]
	problems := append(c.bounded(program), c.writes(program, rest)...)
	if program.Runner {
		return append(problems, c.executable(rest)...)
	}
	if i := slices.Index(rest, "--"); i >= 0 {
		problems = append(problems, c.executable(rest[i+1:])...)
	}
	return problems
}

func (c container) lookup(command string) (publishedimages.Program, string) {
	if m := c.mount(command); m != nil {
		return publishedimages.Program{Path: command}, "" // from a volume
	}
	program, found := c.image.Lookup(command)
	switch {
	case found && c.mount(program.Path) != nil:
		return program, fmt.Sprintf("a volume hides %s of the image", program.Path)
	case found:
		return program, ""
	case slices.Contains(shells, path.Base(command)) && c.image.Base.Shell == "":
		return program, fmt.Sprintf("image %s has no shell for %q", c.image.Name, command)
	}
	return program, fmt.Sprintf("image %s has no program %q", c.image.Name, command)
}

// mount is the mount that contains a path.
func (c container) mount(file string) *corev1.VolumeMount {
	for i, m := range c.VolumeMounts {
		if dir := path.Clean(m.MountPath); file == dir || strings.HasPrefix(file, dir+"/") {
			return &c.VolumeMounts[i]
		}
	}
	return nil
}

// bounded checks that the container may have the file capabilities of a program. Linux refuses to execute a program if it cannot grant
// the effective file capabilities: capabilities(7), "Safety checking for capability-dumb binaries".
func (c container) bounded(program publishedimages.Program) []string {
	var problems []string
	for _, capability := range program.Capabilities {
		if !slices.Contains(c.boundingSet(), capability) {
			problems = append(problems, fmt.Sprintf("%s has the file capability %s, which the container drops: operation not permitted", program.Path, capability))
		}
	}
	return problems
}

func (c container) boundingSet() []publishedimages.Capability {
	set := slices.Clone(defaultCapabilities)
	s := c.SecurityContext
	if s == nil || s.Capabilities == nil {
		return set
	}
	for _, dropped := range s.Capabilities.Drop {
		set = slices.DeleteFunc(set, func(c publishedimages.Capability) bool { return dropped == "ALL" || string(c) == string(dropped) })
	}
	for _, added := range s.Capabilities.Add {
		set = append(set, publishedimages.Capability(added))
	}
	return set
}

// writes checks the directories that a program writes.
func (c container) writes(program publishedimages.Program, args []string) []string {
	if c.SecurityContext == nil || !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		return nil
	}
	var problems []string
	for _, dir := range slices.Concat(program.Writes, written(args, program.WriteFlags)) {
		if m := c.mount(dir); m == nil || m.ReadOnly {
			problems = append(problems, fmt.Sprintf("%s writes %s, which is not a writable volume", program.Path, dir))
		}
	}
	return problems
}

// written are the values of flags: files and directories. A socket may have a scheme, and a value options after a comma.
func written(args, flags []string) []string {
	var paths []string
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if !slices.Contains(flags, name) {
			continue
		}
		value, _, _ = strings.Cut(value, ",")
		for _, scheme := range []string{"unix://", "unix:"} {
			value = strings.TrimPrefix(value, scheme)
		}
		if strings.HasPrefix(value, "/") {
			paths = append(paths, value)
		}
	}
	return paths
}
