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

// mirrorSet is a manifest with mirrors. The three kinds differ in the name of the list.
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

// mirrors adds the list of a manifest.
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

// endpoint is a location from which containerd pulls images of a registry.
type endpoint struct {
	url string
	// path is true when url contains a path before the repository.
	path bool
	tags bool
}

// Check returns an error for a mirror that containerd does not support.
func (m Mirror) Check() error {
	_, err := m.endpoints()
	return err
}

// endpoints returns the locations from which containerd would pull. containerd selects mirrors by registry, appends the
// repository to the URL of the mirror, and cannot replace a part of the repository.
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

// registryHost matches a host name or an address, with or without a port. It is also the name of a directory on the nodes.
var registryHost = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// isRegistry reports whether a text is a host, with or without a port.
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

// add appends an endpoint, or merges it with one of the same URL. The result resolves tags if one of them does.
func add(endpoints []endpoint, e endpoint) []endpoint {
	for i := range endpoints {
		if endpoints[i].url == e.url {
			endpoints[i].tags = endpoints[i].tags || e.tags
			return endpoints
		}
	}
	return append(endpoints, e)
}

// hosts writes a hosts.toml (https://github.com/containerd/containerd/blob/main/docs/hosts.md). containerd tries the server
// last. Where the registry itself must not be used, the last mirror is the server.
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

// options returns the settings of an endpoint. An endpoint without "resolve" is not used for tags.
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

// serverOf returns the server of a registry. Only the server of docker.io has another name.
func serverOf(registry string) string {
	if registry == "docker.io" {
		return "registry-1.docker.io"
	}
	return registry
}
