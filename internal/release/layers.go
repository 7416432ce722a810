package release

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A wanted is one of the files of a release.
type wanted int

const (
	references wanted = iota
	bootImages
	numWanted
)

const (
	manifestsDir   = "release-manifests"
	referencesFile = manifestsDir + "/image-references"
	// bootImagesSuffix is the end of the name of the file with the boot images. The number at its start has changed before.
	bootImagesSuffix = "coreos-bootimages.yaml"

	// deletedPrefix and deletedAll mark, in a layer, files that are deleted from the layers below.
	// https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
	deletedPrefix = ".wh."
	deletedAll    = ".wh..opq"
)

const (
	// maxFile is several times the size of the files of an OpenShift payload.
	maxFile = 1 << 20
	// maxLayers is the limit of container runtimes.
	maxLayers = 127
	// maxPulled and maxUnpacked are limits for all layers together. The payload tools write the files into the newest layer;
	// all layers of an OpenShift payload are smaller than this.
	maxPulled   = 1 << 30
	maxUnpacked = 4 << 30
	// maxWindow is the window size that a zstd decoder must support. The layer could choose more memory otherwise.
	maxWindow = 8 << 20
)

// files holds the files found so far, from the newest layer on. A file that a newer layer has deleted is found, and nil.
type files struct {
	content  [numWanted][]byte
	decided  [numWanted]bool
	unpacked int64
}

// complete reports whether older layers cannot change the result.
func (f *files) complete() bool { return f.decided[references] && f.decided[bootImages] }

// add reads one layer to its end, so that its digest is verified.
func (f *files) add(layer io.Reader) error {
	plain, err := unpack(layer)
	if err != nil {
		return err
	}
	defer plain.Close()
	limited := &limitedReader{r: plain, left: maxUnpacked - f.unpacked, message: fmt.Sprintf("it has more than %d GiB", maxUnpacked>>30)}
	var found [numWanted][]byte
	var deleted [numWanted]bool
	for archive := tar.NewReader(limited); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("a layer is not a tar archive: %w", err)
		}
		about, deletion := match(header.Name)
		for _, file := range about {
			if deletion {
				deleted[file] = true
			} else if header.Typeflag == tar.TypeReg {
				if found[file], err = readFile(archive, header); err != nil {
					return err
				}
			}
		}
	}
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return fmt.Errorf("the end of a layer cannot be read: %w", err)
	}
	f.unpacked = maxUnpacked - limited.left
	for file := range numWanted {
		if !f.decided[file] {
			f.content[file], f.decided[file] = found[file], found[file] != nil || deleted[file]
		}
	}
	return nil
}

// match returns the file that an entry of a layer is about, and whether the entry deletes it from the layers below.
func match(name string) (about []wanted, deletion bool) {
	name = path.Clean("/" + name)[1:]
	dir, base := path.Dir(name), path.Base(name)
	base, deletion = strings.CutPrefix(base, deletedPrefix)
	switch whole := path.Join(dir, base); {
	case deletion && (whole == manifestsDir || base == deletedAll && (dir == manifestsDir || dir == ".")):
		return []wanted{references, bootImages}, true
	case whole == referencesFile:
		return []wanted{references}, deletion
	case dir == manifestsDir && strings.HasSuffix(base, bootImagesSuffix):
		return []wanted{bootImages}, deletion
	}
	return nil, false
}

func readFile(archive io.Reader, header *tar.Header) ([]byte, error) {
	// The size in the header is not allocated before it has been read.
	content := bytes.NewBuffer([]byte{})
	if _, err := io.Copy(content, &limitedReader{r: archive, left: maxFile, message: fmt.Sprintf("a file in %s has more than %d MiB", manifestsDir, maxFile>>20)}); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", clip(header.Name), err)
	}
	return content.Bytes(), nil
}

// unpack decompresses a layer, independent of its media type.
func unpack(layer io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(layer)
	magic, err := buffered.Peek(4)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(buffered), nil
}

// limitedReader returns an error at the limit. io.LimitReader would only return EOF.
type limitedReader struct {
	r       io.Reader
	left    int64
	message string
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, notRelease("%s", l.message)
	}
	return n, err
}
