package imageregistry

import (
	"net/http"
	"path"
	"regexp"
	"strings"
)

// The verbs of access, as in RBAC.
const (
	get    = "get"
	update = "update"
	remove = "delete"
	list   = "list"
)

// An access is what a request does with a repository. Without a namespace, it concerns all of them.
type access struct{ verb, namespace, name string }

// Names and paths of the API: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md. The first part of a name is the name
// of a namespace.
var (
	repository = `([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)/([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)`
	named      = regexp.MustCompile(`^` + repository + `$`)
	requests   = regexp.MustCompile(`^/v2/` + repository + `/(manifests/[^/]+|blobs/[^/]+:[^/]+|blobs/uploads/?|blobs/uploads/[^/]+|tags/list|referrers/[^/]+)$`)
)

// The paths without a repository.
const (
	root    = "/v2/"
	catalog = "/v2/_catalog"
)

// maxName is the limit of distribution for the name of a repository.
const maxName = 255

// accesses returns what a request does. Known is false for a path that no registry serves. A request for the root does nothing.
func accesses(r *http.Request) (all []access, known bool) {
	if isForm(r) { // the registry reads parameters also from a form in the body
		return nil, false
	}
	if r.URL.RawPath != "" || path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
		return nil, false // the registry could read another name
	}
	switch r.URL.Path {
	case root, strings.TrimSuffix(root, "/"):
		return nil, true
	case catalog:
		return []access{{verb: list}}, true
	}
	match := requests.FindStringSubmatch(r.URL.Path)
	if match == nil || len(match[1])+1+len(match[2]) > maxName {
		return nil, false
	}
	all = []access{{verbOf(r.Method, match[3]), match[1], match[2]}}
	// A layer of another repository may be mounted: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#mounting-a-blob-from-another-repository.
	for _, from := range r.URL.Query()["from"] {
		source := named.FindStringSubmatch(from)
		if source == nil {
			return nil, false
		}
		all = append(all, access{get, source[1], source[2]})
	}
	return all, true
}

// isForm reports whether the body of a request can have parameters.
func isForm(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return strings.Contains(kind, "form")
}

func verbOf(method, object string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		if strings.HasPrefix(object, "blobs/uploads") {
			return update // the state of an upload
		}
		return get
	case http.MethodDelete:
		if strings.HasPrefix(object, "blobs/uploads") {
			return update
		}
		return remove
	}
	return update
}

// writes reports whether a request may change the registry.
func writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
