package images

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// layerFormat is part of the key of a cached layer. It must be increased when the same files are packed in another way.
const layerFormat = "1"

// file is one file of a layer: a copy, a link, a text, or else a directory.
type file struct {
	path   string // in the image, absolute
	source string // on disk
	link   string // target of a link
	text   string
	mode   os.FileMode // with os.ModeDir for a directory
	// capabilities is the value of the extended attribute with its file capabilities.
	capabilities []byte
}

// shelf is a cache of layers on disk. Its layout is the layout of the registry's disk handler, so that a registry on the same
// directory already has the blobs.
type shelf struct{ dir string }

func (s shelf) blob(digest v1.Hash) string { return filepath.Join(s.dir, digest.Algorithm, digest.Hex) }
func (s shelf) note(key string) string     { return filepath.Join(s.dir, "layers", key+".json") }

// layer packs files, unless the cache contains the layer.
func (s shelf) layer(ctx context.Context, files []file, format types.MediaType) (v1.Layer, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
	key, err := keyOf(files)
	if err != nil {
		return nil, err
	}
	if format == types.OCILayer {
		key += "-gzip"
	}
	if found := s.find(key); found != nil {
		return partial.CompressedToLayer(found)
	}
	packed, err := s.pack(ctx, files, format)
	if err != nil {
		return nil, err
	}
	note, err := json.Marshal(packed)
	if err == nil {
		err = write(s.note(key), note)
	}
	if err != nil {
		return nil, fmt.Errorf("noting a layer: %w", err)
	}
	return partial.CompressedToLayer(packed)
}

// find returns a layer that is complete in the cache, else nil.
func (s shelf) find(key string) *packed {
	text, err := os.ReadFile(s.note(key))
	if err != nil {
		return nil
	}
	p := &packed{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil
	}
	p.path = s.blob(p.Blob)
	if info, err := os.Stat(p.path); err != nil || info.Size() != p.Bytes {
		return nil
	}
	now := time.Now()
	for _, used := range []string{p.path, s.note(key)} {
		if err := os.Chtimes(used, now, now); err != nil {
			return nil
		}
	}
	return p
}

// shelfLife is how long unused layers are kept: each change of the operators creates another layer.
const shelfLife = 7 * 24 * time.Hour

// clear removes layers that were not used since then. Files that cannot be removed are left to the next run.
func (s shelf) clear(since time.Time) {
	for _, pattern := range []string{"sha256/*", "layers/*", "layer-*"} {
		paths, _ := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.ModTime().Before(since) {
				os.Remove(path)
			}
		}
	}
}

// keyOf is the hash of everything that determines the content of a layer.
func keyOf(files []file) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "format %s\n", layerFormat)
	for _, f := range files {
		fmt.Fprintf(h, "%q %q %o\n", f.path, f.link, f.mode)
		if f.text != "" {
			fmt.Fprintf(h, "text %q\n", f.text)
		}
		if f.capabilities != nil {
			fmt.Fprintf(h, "capabilities %x\n", f.capabilities)
		}
		if f.source == "" {
			continue
		}
		sum, err := sumOf(f.source)
		if err != nil {
			return "", fmt.Errorf("reading what is to be %s: %w", f.path, err)
		}
		fmt.Fprintf(h, "%s\n", sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// pack writes a layer. It is only pulled on this machine, so that speed is more important than size.
func (s shelf) pack(ctx context.Context, files []file, format types.MediaType) (*packed, error) {
	if err := os.MkdirAll(filepath.Join(s.dir, "sha256"), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache of layers: %w", err)
	}
	out, err := os.CreateTemp(s.dir, "layer-*")
	if err != nil {
		return nil, fmt.Errorf("packing a layer: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	plain, blob := sha256.New(), sha256.New()
	compressor, err := compressor(io.MultiWriter(out, blob), format)
	if err != nil {
		return nil, fmt.Errorf("packing a layer: %w", err)
	}
	archive := tar.NewWriter(io.MultiWriter(compressor, plain))
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := add(archive, f); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	for _, end := range []io.Closer{archive, compressor} {
		if err := end.Close(); err != nil {
			return nil, fmt.Errorf("packing a layer: %w", err)
		}
	}
	info, err := out.Stat()
	if err != nil {
		return nil, fmt.Errorf("packing a layer: %w", err)
	}
	hash := func(sum []byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum)} }
	p := &packed{Blob: hash(blob.Sum(nil)), Plain: hash(plain.Sum(nil)), Bytes: info.Size(), Format: format}
	p.path = s.blob(p.Blob)
	if err := os.Rename(out.Name(), p.path); err != nil {
		return nil, fmt.Errorf("keeping a layer: %w", err)
	}
	return p, nil
}

// compressor returns the fastest one of a format.
func compressor(to io.Writer, format types.MediaType) (io.WriteCloser, error) {
	if format == types.OCILayer {
		return gzip.NewWriterLevel(to, gzip.BestSpeed)
	}
	return zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
}

// capabilityRecord is the record of an archive from which a container runtime sets the file capabilities.
const capabilityRecord = "SCHILY.xattr.security.capability"

// add adds a file without a time, owned by root.
func add(archive *tar.Writer, f file) error {
	header := &tar.Header{Name: strings.TrimPrefix(f.path, "/"), Mode: permissions(f.mode)}
	if f.capabilities != nil {
		header.PAXRecords = map[string]string{capabilityRecord: string(f.capabilities)}
	}
	switch {
	case f.mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return archive.WriteHeader(header)
	case f.text != "":
		header.Typeflag, header.Size = tar.TypeReg, int64(len(f.text))
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.WriteString(archive, f.text)
		return err
	case f.source == "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
		return archive.WriteHeader(header)
	}
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}

// permissions returns the permissions of a mode in an archive.
func permissions(mode os.FileMode) int64 {
	bits := int64(mode.Perm())
	if mode&os.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&os.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// packed is a layer on disk: a partial.CompressedLayer with a stored DiffID, so that it need not be decompressed.
type packed struct {
	Blob, Plain v1.Hash
	Bytes       int64
	// Format is empty in notes of earlier versions, which knew one format only.
	Format types.MediaType `json:",omitempty"`
	path   string
}

func (p *packed) Digest() (v1.Hash, error) { return p.Blob, nil }
func (p *packed) DiffID() (v1.Hash, error) { return p.Plain, nil }
func (p *packed) Size() (int64, error)     { return p.Bytes, nil }
func (p *packed) MediaType() (types.MediaType, error) {
	return cmp.Or(p.Format, types.OCILayerZStd), nil
}
func (p *packed) Compressed() (io.ReadCloser, error) { return os.Open(p.path) }

// write writes a file atomically.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(unfinished)
	if err := os.WriteFile(unfinished, content, 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}
