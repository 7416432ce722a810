package nodeconfig

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/controlchars"
)

// mirrorSet is a manifest with mirrors. Each of the three kinds has its list under another name.
type mirrorSet struct {
	envelope `json:",inline"`
	Spec     struct {
		ImageDigestMirrors      []mirrorEntry `json:"imageDigestMirrors"`
		ImageTagMirrors         []mirrorEntry `json:"imageTagMirrors"`
		RepositoryDigestMirrors []mirrorEntry `json:"repositoryDigestMirrors"`
	} `json:"spec"`
}

type mirrorEntry struct {
	Source             string   `json:"source"`
	Mirrors            []string `json:"mirrors"`
	MirrorSourcePolicy string   `json:"mirrorSourcePolicy"`
}

func readDigestMirrors(p *parser, m manifest) {
	p.mirrors(m, false, func(s mirrorSet) []mirrorEntry { return s.Spec.ImageDigestMirrors })
}

func readTagMirrors(p *parser, m manifest) {
	p.mirrors(m, true, func(s mirrorSet) []mirrorEntry { return s.Spec.ImageTagMirrors })
}

func readContentSources(p *parser, m manifest) {
	p.mirrors(m, false, func(s mirrorSet) []mirrorEntry { return s.Spec.RepositoryDigestMirrors })
}

// mirrors takes over the list that a kind has.
func (p *parser) mirrors(m manifest, tags bool, list func(mirrorSet) []mirrorEntry) {
	var set mirrorSet
	if err := m.strict(&set); err != nil {
		p.refuse("%s: %v", m, err)
		return
	}
	entries := list(set)
	if len(entries) == 0 {
		p.refuse("%s has no mirrors under the field that its kind has: add some, or remove it", m)
	}
	for _, entry := range entries {
		mirror := Mirror{Source: entry.Source, Mirrors: entry.Mirrors, Tags: tags, Only: entry.MirrorSourcePolicy == "NeverContactSource"}
		if err := mirror.Check(); err != nil {
			p.refuse("%s: %v", m, err)
			continue
		}
		p.config.Mirrors = append(p.config.Mirrors, mirror)
	}
}

// endpoint is where containerd asks for images of a registry.
type endpoint struct {
	url string
	// path says that url has a path before the repository.
	path bool
	tags bool
}

// Check says what containerd cannot make of a mirror.
func (m Mirror) Check() error {
	_, err := m.endpoints()
	return err
}

// endpoints says where containerd would ask. It keeps mirrors by registry, puts the repository behind what it is told, and
// cannot replace a part of it.
func (m Mirror) endpoints() ([]endpoint, error) {
	registry, repository, _ := strings.Cut(m.Source, "/")
	if controlchars.In(m.Source) || slices.ContainsFunc(m.Mirrors, controlchars.In) {
		return nil, errors.New("a source or mirror has a line break or another control character: remove it")
	}
	if !isRegistry(registry) {
		return nil, fmt.Errorf("source %q must begin with the host of a registry, without wildcards", m.Source)
	}
	if m.Only && (repository != "" || len(m.Mirrors) == 0) {
		return nil, fmt.Errorf("mirrorSourcePolicy NeverContactSource of source %q: give it mirrors, and let it be the whole registry %s", m.Source, registry)
	}
	var endpoints []endpoint
	for _, mirror := range m.Mirrors {
		host, prefix, _ := strings.Cut(mirror, "/")
		if !isRegistry(host) {
			return nil, fmt.Errorf("mirror %q must begin with the host of a registry", mirror)
		}
		if repository != "" {
			before, ends := strings.CutSuffix("/"+prefix, "/"+repository)
			if !ends {
				return nil, fmt.Errorf("mirror %q of %q: containerd finds mirrors by registry and keeps the repository: let the mirror end in /%s, or mirror the whole of %s", mirror, m.Source, repository, registry)
			}
			prefix = strings.TrimPrefix(before, "/")
		}
		e := endpoint{url: "https://" + host, tags: m.Tags}
		if prefix != "" {
			e.url, e.path = e.url+"/v2/"+prefix, true
		}
		endpoints = append(endpoints, e)
	}
	return endpoints, nil
}

// registryHost is a host name or an address, with a port or not. It is the name
// of a directory on the nodes as well.
var registryHost = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// isRegistry says whether a text is a host, with a port or not.
func isRegistry(host string) bool {
	return strings.ContainsAny(host, ".:") && registryHost.MatchString(host)
}

// registries returns the hosts.toml of containerd for each registry that has mirrors.
func registries(mirrors []Mirror) (map[string]string, error) {
	endpoints, only := map[string][]endpoint{}, map[string]bool{}
	for _, m := range mirrors {
		registry, _, _ := strings.Cut(m.Source, "/")
		more, err := m.endpoints()
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			endpoints[registry] = add(endpoints[registry], e)
		}
		only[registry] = only[registry] || m.Only
	}
	files := map[string]string{}
	for _, registry := range slices.Sorted(maps.Keys(endpoints)) {
		files[registry] = hosts(registry, endpoints[registry], only[registry])
	}
	return files, nil
}

// add keeps each URL once, and lets it be asked for tags if anybody wants that.
func add(endpoints []endpoint, e endpoint) []endpoint {
	for i := range endpoints {
		if endpoints[i].url == e.url {
			endpoints[i].tags = endpoints[i].tags || e.tags
			return endpoints
		}
	}
	return append(endpoints, e)
}

// hosts writes a hosts.toml (https://github.com/containerd/containerd/blob/main/docs/hosts.md). The server is asked last;
// where the registry itself must not be asked, it is the last mirror.
func hosts(registry string, endpoints []endpoint, only bool) string {
	var out strings.Builder
	if last := endpoints[len(endpoints)-1]; only {
		endpoints = endpoints[:len(endpoints)-1]
		fmt.Fprintf(&out, "server = %s\n%s", strconv.Quote(last.url), last.options())
	} else {
		fmt.Fprintf(&out, "server = %s\n", strconv.Quote("https://"+serverOf(registry)))
	}
	for _, e := range endpoints {
		fmt.Fprintf(&out, "\n[host.%s]\n%s", strconv.Quote(e.url), e.options())
	}
	return out.String()
}

// options of an endpoint: who is not asked to resolve is not asked for tags.
func (e endpoint) options() string {
	capabilities := `["pull"]`
	if e.tags {
		capabilities = `["pull", "resolve"]`
	}
	text := "capabilities = " + capabilities + "\n"
	if e.path {
		text += "override_path = true\n"
	}
	return text
}

// serverOf knows the one registry whose name is not that of its server.
func serverOf(registry string) string {
	if registry == "docker.io" {
		return "registry-1.docker.io"
	}
	return registry
}
