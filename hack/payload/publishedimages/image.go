package publishedimages

import (
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strings"
)

// An Image holds the facts that an image's build file determines.
type Image struct {
	// Name is the name of the image in a release, or of the image in the chart.
	Name string
	// Kubernetes is the version of Kubernetes that this image belongs to; empty if all releases share the facts.
	Kubernetes string
	Base       Base
	// Entrypoint and Command replace the base's. An entrypoint also removes the command of the base.
	Entrypoint, Command []string
	// User and WorkingDir replace the base's.
	User, WorkingDir string
	// Env and Labels are added to the base's.
	Env, Labels map[string]string
	// Users and Programs are the users and programs that the image adds to its base.
	Users    []User
	Programs []Program
	// Architectures are the architectures of the published index.
	Architectures []string
	// Index is the media type of the published index.
	Index MediaType
	// Sources are the files that were read.
	Sources []Source
	// Differs is why the files do not belong to the version in the release.
	Differs string
}

// A Base is the image after FROM.
type Base struct {
	// Name is the image as the build file or its build script has it.
	Name                string
	Entrypoint, Command []string
	// User is empty if the configuration has none, which is root.
	User, WorkingDir string
	Env, Labels      map[string]string
	// Shell is the path of a shell; empty without a shell.
	Shell    string
	Programs []Program
	// Users are the users in its /etc/passwd; nil if it has no such file.
	Users   []User
	Sources []Source
}

// A User is a line of /etc/passwd. Its group has the same number.
type User struct {
	Name   string
	Number int
	Home   string
}

// A Program is an executable file in an image.
type Program struct {
	Path string
	// Capabilities are its file capabilities: permitted and effective.
	Capabilities []Capability
	// Runner is set if the program runs the program that its arguments name.
	Runner bool
	// Writes are the directories into which the program writes with every configuration that a pod gives it.
	Writes []string
	// WriteFlags are flags that name a file or a directory that the program writes.
	WriteFlags []string
}

// A Source is a file, with the version that was read.
type Source struct{ URL, Version string }

// A Capability is a capability of Linux, as a pod names it.
type Capability string

// NetBindService is the only capability in the table.
const NetBindService Capability = "NET_BIND_SERVICE"

// bits are the numbers of the capabilities: linux/capability.h.
var bits = map[Capability]uint{NetBindService: 10}

// A MediaType is the media type of an index of manifests.
type MediaType string

// The media types of an index. "docker manifest create" writes the first, buildx and ko the second.
const (
	DockerManifestList MediaType = "application/vnd.docker.distribution.manifest.list.v2+json"
	OCIIndex           MediaType = "application/vnd.oci.image.index.v1+json"
)

// DefaultPath is the PATH of all images in the table.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A Config is the configuration of an image: its build file's configuration on its base's configuration.
type Config struct {
	Entrypoint, Command []string
	User, WorkingDir    string
	Env, Labels         map[string]string
}

// Config returns the configuration of the image.
func (i Image) Config() Config {
	c := Config{Entrypoint: i.Base.Entrypoint, Command: i.Base.Command, User: i.Base.User, WorkingDir: i.Base.WorkingDir}
	if len(i.Entrypoint) > 0 {
		c.Entrypoint, c.Command = i.Entrypoint, nil
	}
	if len(i.Command) > 0 {
		c.Command = i.Command
	}
	if i.User != "" {
		c.User = i.User
	}
	if i.WorkingDir != "" {
		c.WorkingDir = i.WorkingDir
	}
	c.Env, c.Labels = merged(map[string]string{"PATH": DefaultPath}, i.Base.Env, i.Env), merged(i.Base.Labels, i.Labels)
	return c
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// AllUsers are the users of the image and of its base.
func (i Image) AllUsers() []User { return slices.Concat(i.Base.Users, i.Users) }

// AllPrograms are the programs of the image and of its base.
func (i Image) AllPrograms() []Program {
	all := slices.Concat(i.Programs, i.Base.Programs)
	if i.Base.Shell != "" {
		all = append(all, Program{Path: i.Base.Shell})
	}
	return all
}

// Lookup returns the program that a container runtime starts for the first word of a command.
func (i Image) Lookup(command string) (Program, bool) {
	for _, p := range i.AllPrograms() {
		if p.Path == command {
			return p, true
		}
	}
	if strings.Contains(command, "/") {
		return Program{}, false
	}
	for _, dir := range strings.Split(i.Config().Env["PATH"], ":") {
		if p, found := i.Lookup(path.Join(dir, command)); found {
			return p, true
		}
	}
	return Program{}, false
}

// Of returns the image with a name in a release of this version of Kubernetes.
func Of(name, kubernetes string) (Image, bool) {
	for _, i := range Table {
		if i.Name == name && (i.Kubernetes == "" || i.Kubernetes == kubernetes) {
			return i, true
		}
	}
	return Image{}, false
}

// The parts of the value of the extended attribute "security.capability": linux/capability.h, struct vfs_cap_data.
const (
	capabilityRevision2 = 0x02000000
	capabilityEffective = 0x000001
)

// Attribute returns the value of the extended attribute "security.capability" that "setcap capability=+ep" writes.
func Attribute(capabilities []Capability) []byte {
	var permitted uint64
	for _, c := range capabilities {
		permitted |= 1 << bits[c]
	}
	var value []byte
	for _, word := range []uint32{capabilityRevision2 | capabilityEffective, uint32(permitted), 0, uint32(permitted >> 32), 0} {
		value = binary.LittleEndian.AppendUint32(value, word)
	}
	return value
}
