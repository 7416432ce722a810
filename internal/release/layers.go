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

// A wanted is one of the files that make an image a release.
type wanted int

const (
	references wanted = iota
	bootImages
	numWanted
)

const (
	manifestsDir   = "release-manifests"
	referencesFile = manifestsDir + "/image-references"
	// bootImagesSuffix ends the name of the file with the boot images; the number that it begins with has changed before.
	bootImagesSuffix = "coreos-bootimages.yaml"

	// deletedPrefix and deletedAll mark, in a layer, what is gone from the layers below.
	// https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
	deletedPrefix = ".wh."
	deletedAll    = ".wh..opq"
)

const (
	// maxFile is several times what the files of an OpenShift payload have.
	maxFile = 1 << 20
	// maxLayers is what a container runtime takes.
	maxLayers = 127
	// maxPulled and maxUnpacked are for all layers together. The files are in the newest layer of a payload as its tools make
	// it; a whole payload of OpenShift is less than this.
	maxPulled   = 1 << 30
	maxUnpacked = 4 << 30
	// maxWindow is what a zstd decoder has to support; more is memory that the layer chooses.
	maxWindow = 8 << 20
)

// files are what the layers said so far, from the newest on. A file that a newer layer has deleted is settled, and nil.
type files struct {
	content  [numWanted][]byte
	settled  [numWanted]bool
	unpacked int64
}

// complete says that older layers cannot change anything.
func (f *files) complete() bool { return f.settled[references] && f.settled[bootImages] }

// add reads one layer, to the end, so that its digest is checked.
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
		about, deletion := judge(header.Name)
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
		if !f.settled[file] {
			f.content[file], f.settled[file] = found[file], found[file] != nil || deleted[file]
		}
	}
	return nil
}

// judge says which of the files an entry of a layer is about, and whether it is their deletion from the layers below.
func judge(name string) (about []wanted, deletion bool) {
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
	// The size that the header claims is not allocated before it has been read.
	content := bytes.NewBuffer([]byte{})
	if _, err := io.Copy(content, &limitedReader{r: archive, left: maxFile, message: fmt.Sprintf("a file in %s has more than %d MiB", manifestsDir, maxFile>>20)}); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", clip(header.Name), err)
	}
	return content.Bytes(), nil
}

// unpack decompresses a layer, whatever it is said to be.
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

// limitedReader fails, where io.LimitReader would only end.
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
