package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// payloads builds the release payloads of hack/payload. Their tag has both versions, because another release of this project may have
// other images of the same Kubernetes.
func (r *release) payloads(ctx context.Context, s *staging) ([]artifact, error) {
	files, err := filepath.Glob(filepath.Join(r.root, "hack", "payload", "kubernetes-*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("hack/payload has no description of a payload")
	}
	var all []artifact
	for _, file := range files {
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "kubernetes-"), ".yaml")
		a := artifact{what: "payload of Kubernetes " + version, repository: "kubernetes-release", tag: "v" + version + "-" + r.version}
		r.report("building the %s", a.what)
		if _, err := r.output(ctx, "go", "run", "./hack/payload", "-f", file, "-push", s.named(a), "-pin="+strconv.FormatBool(r.pin)); err != nil {
			return nil, err
		}
		if err := s.resolve(ctx, &a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
