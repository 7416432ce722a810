package images

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// conformance are the images of the end-to-end tests of a version of Kubernetes that its conformance tests need. Both versions need
// the same ones, under other names and tags. They have the programs of the public images that these tests run, from other packages.
func conformance(version string) []image {
	tools := []source{conformanceTools}
	return []image{
		{
			name: "agnhost", trusts: true, more: shell, above: []source{conformanceTools, agnhostFiles(version)},
			programs:   []at{{ConformanceProgram("agnhost", version), "/agnhost"}, {"coredns", "/coredns"}},
			entrypoint: []string{"/agnhost"}, command: []string{"pause"},
		},
		{name: "busybox", more: busyboxShell, command: []string{"sh"}},
		{name: "etcd", programs: []at{{"etcd", "/usr/local/bin/etcd"}}},
		{name: "glibc-dns-testing", more: shell, above: tools, command: []string{"bash"}},
		{name: "jessie-dnsutils", more: shell, above: tools, command: []string{"bash"}},
		webServer("kitten", version, alpineRelease),
		webServer("nautilus", version),
		{name: "nginx", more: shell, above: []source{nginx}, command: []string{"nginx", "-g", "daemon off;"}},
		{name: "nonewprivs", more: shell, above: []source{nonewprivs(version)}, command: []string{"nnp"}},
		{name: "nonroot", more: shell, user: "1234"},
		{name: "pause", more: pause, entrypoint: []string{"/pause", "-P"}, user: "65535:65535"},
		{
			name: "sample-apiserver", programs: []at{{ConformanceProgram("sample-apiserver", version), "/sample-apiserver"}},
			entrypoint: []string{"/sample-apiserver"},
		},
	}
}

// webServer is an image of agnhost that serves the files that the tests of kubectl read.
func webServer(name, version string, more ...source) image {
	content := fromModule(version, map[string]string{
		"test/images/" + name + "/html/" + name + ".jpg": "/" + name + ".jpg",
		"test/images/" + name + "/html/data.json":        "/data.json",
	})
	return image{
		name: name, more: shell, above: append([]source{content}, more...),
		programs:   []at{{ConformanceProgram("agnhost", version), "/agnhost"}},
		entrypoint: []string{"/agnhost"}, command: []string{"test-webserver"},
	}
}

// ConformanceProgram is the name in hack/binaries of a program of the tests of a version.
func ConformanceProgram(name, version string) string {
	switch {
	case version != Versions[0]:
		return "conformance-" + version + "/" + name
	case name == "agnhost" || name == "kubectl":
		return name
	}
	return "conformance/" + name
}

// Conformance holds the prerequisites of a version's end-to-end tests besides a cluster.
type Conformance struct {
	// Source is the directory with the source of Kubernetes.
	Source string
	// Repositories is the content of the file that the variable KUBE_TEST_REPO_LIST names.
	Repositories string
}

// PushConformance pushes the images of the tests of a version, with the names and tags that the tests expect. Versions have
// repositories of their own, because they use the same tags.
func PushConformance(ctx context.Context, o Options, version string) (Conformance, error) {
	var c Conformance
	var err error
	if c.Source, err = pinned.Source(ctx, ConformanceProgram("e2e.test", version)); err != nil {
		return c, err
	}
	references, err := readReferences(c.Source)
	if err != nil {
		return c, err
	}
	c.Repositories = repositoryList(o.Registry, version, references)
	w, err := open(ctx, o)
	if err != nil {
		return c, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, i := range conformance(version) {
		tags := tagsOf(references, i.name)
		if len(tags) == 0 {
			continue // of another version
		}
		group.Go(func() error {
			img, err := i.build(ctx, w)
			if err != nil {
				return err
			}
			for _, r := range tags {
				if _, err := o.push(ctx, r.repository(version), r.tag, img); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c, group.Wait()
}

// reference is an image of the tests.
type reference struct{ registry, name, tag string }

// referencePattern is a line of the table of images.
var referencePattern = regexp.MustCompile(`configs\[\w+\]\s*=\s*Config\{list\.(\w+), "([^"]+)", "([^"]+)"\}`)

// readReferences reads the table of images in the source of Kubernetes.
func readReferences(source string) ([]reference, error) {
	file := filepath.Join(source, "test", "utils", "image", "manifest.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the images of the tests: %w", err)
	}
	references := parseReferences(string(text))
	if len(references) == 0 {
		return nil, fmt.Errorf("reading the images of the tests: %s has none", file)
	}
	return references, nil
}

func parseReferences(text string) []reference {
	var all []reference
	for _, match := range referencePattern.FindAllStringSubmatch(text, -1) {
		all = append(all, reference{registry: match[1], name: match[2], tag: match[3]})
	}
	return all
}

// The registries that must not have the images that the tests expect there: one does not exist, one needs credentials.
const (
	invalidRegistry = "InvalidRegistry"
	privateRegistry = "PrivateRegistry"
)

// tagsOf are the references to an image that are pushed.
func tagsOf(references []reference, name string) []reference {
	return slices.DeleteFunc(slices.Clone(references), func(r reference) bool {
		return r.name != name || r.registry == privateRegistry || r.registry == invalidRegistry
	})
}

// prefix is the first part of the repositories of a registry: PromoterE2eRegistry is conformance-1.36.3/promotere2e.
func prefix(registry, version string) string {
	return "conformance-" + version + "/" + strings.ToLower(strings.TrimSuffix(registry, "Registry"))
}

func (r reference) repository(version string) string {
	return prefix(r.registry, version) + "/" + r.name
}

// repositoryList lists the repositories of a lab instead of the public registries. The repository that does not exist keeps its name.
func repositoryList(registry, version string, references []reference) string {
	lines := map[string]bool{}
	for _, r := range references {
		if r.registry != invalidRegistry {
			key := strings.ToLower(r.registry[:1]) + r.registry[1:]
			lines[key+": "+registry+"/"+prefix(r.registry, version)+"\n"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "")
}

// busyboxSh runs the shell of busybox. Debian's build of it drops environment variables with names that a shell cannot have, which
// pods may have: with such a variable, bash runs instead.
const busyboxSh = `#!/bin/bash
while IFS= read -r -d '' variable; do
	[[ ${variable%%=*} =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || exec -a "$0" /bin/bash "$@"
done </proc/self/environ
exec -a "$0" /bin/busybox "$@"
`

// shell has bash as sh. The shell of busybox would run its own applets instead of the programs that tests expect in /usr/bin, such as
// OpenBSD's nc.
func shell(ctx context.Context, w *workshop) ([]file, error) {
	return userland(ctx, w, file{path: "/bin/sh", link: "bash", mode: 0o777})
}

// busyboxShell returns the shell of busybox as sh. Some tests expect its messages.
func busyboxShell(ctx context.Context, w *workshop) ([]file, error) {
	return userland(ctx, w, file{path: "/bin/sh", text: busyboxSh, mode: 0o755})
}

// userland returns the applets of busybox. wget is GNU's: see busybox in table.go. printenv is, too, because busybox of Debian has none.
func userland(ctx context.Context, w *workshop, sh file) ([]file, error) {
	tree, err := w.conformance()
	if err != nil {
		return nil, err
	}
	programs := map[string]string{"/usr/bin/busybox": "/bin/busybox", "/usr/bin/bash": "/bin/bash", "/usr/bin/wget": "", "/usr/bin/printenv": ""}
	applets, err := applets(ctx, filepath.Join(tree.root, "usr", "bin", "busybox"))
	if err != nil {
		return nil, err
	}
	all := links("/bin", "busybox", applets...)
	for _, of := range []string{"busybox", "bash", "sh", "wget"} {
		delete(all, path.Join("/bin", of))
	}
	all["/usr/bin/env"] = "../../bin/busybox"
	files, err := tree.layer(programs, all)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"/home", "/mnt", "/root", "/usr", "/var", "/var/log", "/var/spool", "/run"} {
		files = append(files, file{path: dir, mode: os.ModeDir | 0o755})
	}
	return append(files,
		sh,
		file{path: "/tmp", mode: os.ModeDir | os.ModeSticky | 0o777},
		file{path: "/var/tmp", mode: os.ModeDir | os.ModeSticky | 0o777},
		file{path: "/var/run", link: "../run", mode: 0o777},
		file{path: "/etc/passwd", text: users, mode: 0o644},
		file{path: "/etc/group", text: groups, mode: 0o644},
	), nil
}

// applets are the names of the programs in busybox, which is static and runs anywhere.
func applets(ctx context.Context, busybox string) ([]string, error) {
	out, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the applets of busybox: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// The users and groups of the images. Tests of supplemental groups expect the user and the group that are defined in the image.
const (
	users = `root:x:0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
user-defined-in-image:x:1000:1000::/home:/bin/sh
`
	groups = `root:x:0:
www-data:x:33:
nogroup:x:65534:
user-defined-in-image:x:1000:
group-defined-in-image:x:50000:user-defined-in-image
`
)

// conformanceTools are programs that the tests run in pods of agnhost and of the image with the library of GNU.
func conformanceTools(_ context.Context, w *workshop) ([]file, error) {
	tree, err := w.conformance()
	if err != nil {
		return nil, err
	}
	return tree.layer(map[string]string{
		"/usr/bin/curl": "", "/usr/bin/dig": "", "/usr/bin/nslookup": "", "/usr/bin/nc.openbsd": "/usr/bin/nc",
		"/usr/bin/ip": "", "/usr/bin/ss": "", "/usr/bin/getent": "",
	}, nil)
}

// agnhostFiles are files that programs in agnhost serve, the name under which it is started by tests of entry points, and the directory
// of uploads.
func agnhostFiles(version string) source {
	certificate := fromModule(version, map[string]string{
		"test/images/agnhost/porter/localhost.crt": "/localhost.crt", "test/images/agnhost/porter/localhost.key": "/localhost.key",
	})
	return func(ctx context.Context, w *workshop) ([]file, error) {
		files, err := certificate(ctx, w)
		return append(files, file{path: "/agnhost-2", link: "agnhost", mode: 0o777}, file{path: "/uploads", mode: os.ModeDir | 0o755}), err
	}
}

// alpineRelease names the distribution of the public image, which tests of image volumes read.
func alpineRelease(context.Context, *workshop) ([]file, error) {
	return []file{{path: "/etc/os-release", text: "NAME=\"Alpine Linux\"\nID=alpine\n", mode: 0o644}}, nil
}

// nginx serves one page on port 80.
func nginx(_ context.Context, w *workshop) ([]file, error) {
	tree, err := w.conformance()
	if err != nil {
		return nil, err
	}
	files, err := tree.layer(map[string]string{"/usr/sbin/nginx": ""}, nil)
	return append(files,
		file{path: "/etc/nginx/nginx.conf", text: nginxConfiguration, mode: 0o644},
		file{path: "/usr/share/nginx/html/index.html", text: "<!DOCTYPE html>\n<title>Welcome to nginx!</title>\n<h1>Welcome to nginx!</h1>\n", mode: 0o644},
		file{path: "/var/lib/nginx", mode: os.ModeDir | 0o777},
		file{path: "/var/log/nginx", mode: os.ModeDir | 0o777},
	), err
}

const nginxConfiguration = `worker_processes 1;
user www-data;
error_log stderr notice;
pid /run/nginx.pid;
events {}
http {
    types { text/html html; }
    default_type application/octet-stream;
    access_log /dev/stdout;
    server {
        listen 80;
        listen [::]:80;
        root /usr/share/nginx/html;
    }
}
`

// nonewprivs is a program that runs as root, whoever starts it.
func nonewprivs(version string) source {
	return func(ctx context.Context, w *workshop) ([]file, error) {
		name := ConformanceProgram("nonewprivs", version)
		paths, err := pinned.Ensure(ctx, w.progress, name)
		return []file{{path: "/usr/local/bin/nnp", source: paths[name], mode: os.ModeSetuid | 0o755}}, err
	}
}

// fromModule is a layer of files in the source of Kubernetes: path in the source -> path in the image.
func fromModule(version string, paths map[string]string) source {
	return func(ctx context.Context, _ *workshop) ([]file, error) {
		root, err := pinned.Source(ctx, ConformanceProgram("e2e.test", version))
		if err != nil {
			return nil, err
		}
		var files []file
		for from, to := range paths {
			files = append(files, file{path: to, source: filepath.Join(root, from), mode: 0o644})
		}
		return files, nil
	}
}

// ConformancePrograms are the programs of hack/binaries that the tests of a version and their images need.
func ConformancePrograms(version string) []string {
	names := []string{ConformanceProgram("e2e.test", version), ConformanceProgram("ginkgo", version), ConformanceProgram("kubectl", version), ConformanceProgram("nonewprivs", version)}
	for _, i := range conformance(version) {
		for _, program := range i.programs {
			names = append(names, program.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
