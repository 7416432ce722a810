package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bom is the SBOM of the image for one platform.
type bom struct {
	image artifact // by digest
	file  string
}

// describe writes the SBOMs of the operators' image into the directory of the release. They list the modules that the Go toolchain
// recorded in the programs.
func (r *release) describe(ctx context.Context, s *staging, image artifact) ([]bom, error) {
	index, err := s.index(ctx, image.repository, image.tag)
	if err != nil {
		return nil, err
	}
	images, err := byPlatform(index)
	if err != nil {
		return nil, err
	}
	var boms []bom
	for _, platform := range platforms {
		digest, err := images[platform].Digest()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(r.dist, fmt.Sprintf("hypershift-%s-%s.spdx.json", r.version, strings.ReplaceAll(platform, "/", "-")))
		if err := r.writeSBOM(ctx, file, scan{
			source: "registry:" + s.host + "/" + image.repository + "@" + digest.String(), name: "hypershift", host: s.host, digest: digest.String(),
		}); err != nil {
			return nil, fmt.Errorf("describing the image for %s: %w", platform, err)
		}
		boms = append(boms, bom{image: artifact{repository: image.repository, digest: digest.String()}, file: file})
	}
	return boms, nil
}

// scan is the subject of an SBOM.
type scan struct {
	source string // in the form of syft
	name   string
	host   string // the part of source that the SBOM does not have: in another run it has another name
	digest string
}

// writeSBOM writes the SBOM of the scanned source.
func (r *release) writeSBOM(ctx context.Context, file string, s scan) error {
	scanned, err := r.outputWith(ctx, []string{"SYFT_CHECK_FOR_APP_UPDATE=false", "SYFT_REGISTRY_INSECURE_USE_HTTP=true"},
		r.tools["syft"], "scan", s.source, "--quiet", "--output=spdx-json", "--source-name="+s.name, "--source-version="+r.version)
	if err != nil {
		return err
	}
	text, err := r.reproducible(scanned, s.host, s.digest)
	if err != nil {
		return fmt.Errorf("rewriting the SBOM: %w", err)
	}
	return os.WriteFile(file, text, 0o644)
}

// reproducible replaces the differences between two scans of the same content: the time, the random part of the namespace, and the host.
func (r *release) reproducible(sbom, host, digest string) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(sbom, host, r.registry)), &document); err != nil {
		return nil, err
	}
	creation, ok := document["creationInfo"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it has no creationInfo: %.100s", sbom)
	}
	creation["created"] = r.date.Format(time.RFC3339)
	document["documentNamespace"] = source + "/sbom/" + r.version + "/" + digest
	return json.MarshalIndent(document, "", " ")
}

// attest attaches the SBOMs to the images that they describe.
func (r *release) attest(ctx context.Context, boms []bom) error {
	for _, b := range boms {
		for _, signer := range r.signers {
			args := append([]string{"attest", "--yes", "--type=spdxjson", "--predicate=" + b.file}, signer...)
			if _, err := r.output(ctx, r.tools["cosign"], append(args, r.exact(b.image))...); err != nil {
				return err
			}
		}
	}
	return nil
}
