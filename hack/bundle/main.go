// Command bundle packs the programs that a demo needs into one file, or unpacks such a file, so that another machine need not compile them:
//
//	go run ./hack/binaries | go run ./hack/bundle -pack lab.tar.zst
//	sudo go run ./hack/bundle -unpack lab.tar.zst
//
// To pack, it reads paths in the cache directory from its standard input, and adds the programs of this checkout, unless the checkout
// differs from its commit.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/bundle/archive"
	"github.com/hosted-control-planes/hypershift/hack/bundle/prebuilt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pack := flag.String("pack", "", "write the bundle to this file, and its checksum to the file with .sha256 added")
	unpack := flag.String("unpack", "", "unpack this bundle into the cache directory")
	flag.Parse()
	var err error
	switch {
	case (*pack == "") == (*unpack == "") || flag.NArg() > 0:
		fmt.Fprintln(os.Stderr, "usage: bundle -pack FILE < PATHS, or bundle -unpack FILE")
		os.Exit(2)
	case *pack != "":
		err = packed(ctx, *pack, os.Stdin, os.Stderr)
	default:
		err = unpacked(ctx, *unpack, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func packed(ctx context.Context, file string, in io.Reader, progress io.Writer) error {
	cache, err := pinned.CacheDir()
	if err != nil {
		return err
	}
	var paths []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if path := strings.TrimSpace(lines.Text()); path != "" {
			paths = append(paths, root(cache, path))
		}
	}
	own, err := programs(ctx, progress)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "packing %d programs and root file systems of others, and %d programs of this checkout\n", len(paths), len(own))
	b, err := archive.Pack(ctx, cache, file, append(paths, own...))
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s: %d entries, %d MiB\n", file, len(b.Entries), info.Size()>>20)
	return nil
}

// root returns the directory of a root file system, which has a list of its packages beside the root.
func root(cache, path string) string {
	if filepath.Dir(filepath.Dir(path)) == filepath.Join(cache, "machines") {
		return filepath.Dir(path)
	}
	return path
}

// programs builds the programs of this checkout, unless it has none to share.
func programs(ctx context.Context, progress io.Writer) ([]string, error) {
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	paths, err := prebuilt.Build(ctx, progress, root)
	if errors.Is(err, prebuilt.ErrChanged) {
		fmt.Fprintf(progress, "%v: its programs are left out\n", err)
		return nil, nil
	}
	return paths, err
}

func unpacked(ctx context.Context, file string, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("unpacking needs root: the files of root file systems belong to several users")
	}
	cache, err := pinned.CacheDir()
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "unpacking %s into %s\n", file, cache)
	b, err := archive.Unpack(ctx, cache, file)
	if err == nil {
		for _, path := range b.LeftOut {
			fmt.Fprintf(progress, "%s needs another C library than this machine has: it is built\n", path)
		}
		fmt.Fprintf(progress, "%s: %d entries\n", file, len(b.Entries))
	}
	return err
}
