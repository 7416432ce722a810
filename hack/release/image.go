package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	source = "https://github.com/hosted-control-planes/hypershift"
	// binDir is where pods expect the programs.
	binDir = "/usr/bin"
	// user is not root. The Dockerfile sets the same user.
	user = "65532:65532"
)

// labels describe the image, and are also annotations of its manifests.
func (r *release) labels() map[string]string {
	const oci = "org.opencontainers.image."
	return map[string]string{
		oci + "title":         "hypershift",
		oci + "description":   "Operators that host Kubernetes control planes on AWS",
		oci + "version":       r.version,
		oci + "revision":      r.commit,
		oci + "created":       r.date.Format(time.RFC3339),
		oci + "source":        source,
		oci + "url":           source,
		oci + "documentation": source + "/tree/main/docs",
		oci + "licenses":      "Apache-2.0",
	}
}

// operatorImage builds the image of the operators for all platforms.
func (r *release) operatorImage(ctx context.Context, s *staging) (artifact, error) {
	layers, err := r.buildPrograms(ctx, s)
	if err != nil {
		return artifact{}, err
	}
	base, err := r.baseLayer(ctx)
	if err != nil {
		return artifact{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return artifact{}, err
		}
		img, err := r.image(*p, append([]v1.Layer{base}, layers[platform]...))
		if err != nil {
			return artifact{}, fmt.Errorf("assembling the image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	a := artifact{what: "image of the operators", repository: "hypershift", tag: r.version}
	return a, s.push(ctx, &a, mutate.Annotations(index, r.labels()).(v1.ImageIndex))
}

func (r *release) image(platform v1.Platform, layers []v1.Layer) (v1.Image, error) {
	img, err := emptyImage(platform)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.date}
	for i, layer := range layers {
		by := "hack/release: CA certificates"
		if i > 0 {
			by = "ko build ./" + programs[i-1]
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: by}})
		if err != nil {
			return nil, err
		}
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.Created = created
	cfg.Config = v1.Config{
		User:       user,
		Entrypoint: []string{binDir + "/" + path.Base(programs[0])},
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Labels:     r.labels(),
	}
	if img, err = mutate.ConfigFile(img, cfg); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, r.labels()).(v1.Image), nil
}

// baseLayer returns a layer with the CA certificates, and links to the programs of ko in the directory in which pods expect them.
func (r *release) baseLayer(ctx context.Context) (v1.Layer, error) {
	roots, err := r.output(ctx, r.tools["root-cas"])
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/bin/"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: r.date}))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Size: int64(len(roots)), ModTime: r.date,
	}))
	_, writeErr := io.WriteString(w, roots)
	err = errors.Join(err, writeErr)
	for _, program := range programs {
		at := path.Join(binDir, path.Base(program))
		err = errors.Join(err, w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeSymlink, Name: at[1:], Linkname: path.Join(koDir, path.Base(program)), Mode: 0o777, ModTime: r.date,
		}))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("packing the CA certificates: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
}
