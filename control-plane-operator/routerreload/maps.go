package routerreload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
)

// maps updates the maps of a worker: the files *.map beside the configuration, which a worker reads when it starts. An update needs no new
// worker.
type maps struct {
	// worker identifies the worker that has the contents.
	worker string
	// loaded are the contents, by path.
	loaded map[string][]byte
}

// pieceSize is the maximum size of one command. HAProxy reads a command into one buffer, of 16 KiB.
const pieceSize = 8 << 10

// update makes the worker use the files, in the order of their names. A map that HAProxy rejects keeps its previous content, as do those after
// it, and is tried again.
func (m *maps) update(ctx context.Context, master master, config string) {
	log := logr.FromContextOrDiscard(ctx)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(config), "*.map"))
	if err != nil || len(files) == 0 {
		return
	}
	pid, err := master.info(ctx, worker, "Pid")
	if err != nil {
		return // HAProxy is starting and reads the files itself
	}
	if pid != m.worker {
		// The worker may have read the files before they changed.
		m.worker, m.loaded = pid, map[string][]byte{}
	}
	contents, err := readTogether(files)
	if err != nil {
		return // the kubelet is replacing them
	}
	for _, file := range files {
		want := contents[file]
		known, loaded := m.loaded[file]
		if loaded && bytes.Equal(want, known) {
			continue
		}
		if err := master.replaceMap(ctx, file, string(want)); err != nil {
			log.Error(err, "HAProxy continues with the previous maps", "map", filepath.Base(file))
			return // maps depend on those before them
		}
		m.loaded[file] = want
	}
}

// readTogether reads files of one version of a volume. The kubelet replaces all of them at once, by a link in their directory:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/volume/util/atomic_writer.go
func readTogether(files []string) (map[string][]byte, error) {
	link := filepath.Join(filepath.Dir(files[0]), "..data")
	before, _ := os.Readlink(link) // "" outside of a pod
	contents := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		contents[file] = text
	}
	if after, _ := os.Readlink(link); after != before {
		return nil, errors.New("the files were replaced while they were read")
	}
	return contents, nil
}

// replaceMap replaces the content of a map at once: a lookup finds the old or the new content.
func (m master) replaceMap(ctx context.Context, path, content string) error {
	answer, err := m.command(ctx, worker+" prepare map "+path)
	if err != nil {
		return err
	}
	_, version, found := strings.Cut(answer, "New version created: ")
	if !found {
		return fmt.Errorf("HAProxy does not prepare the map: %s", strings.TrimSpace(answer))
	}
	version = strings.TrimSpace(version)
	for _, piece := range pieces(content) {
		if err := m.quietly(ctx, fmt.Sprintf("%s add map @%s %s <<\n%s", worker, version, path, piece)); err != nil {
			return err
		}
	}
	return m.quietly(ctx, fmt.Sprintf("%s commit map @%s %s", worker, version, path))
}

// quietly sends a command to which HAProxy answers only if it rejects it.
func (m master) quietly(ctx context.Context, command string) error {
	answer, err := m.command(ctx, command)
	if err != nil {
		return err
	}
	if refusal := strings.TrimSpace(answer); refusal != "" {
		return fmt.Errorf("HAProxy rejected the map: %s", refusal)
	}
	return nil
}

// pieces splits lines into parts of at most pieceSize bytes. An empty line would end a command.
func pieces(content string) []string {
	var all []string
	var piece strings.Builder
	for line := range strings.Lines(content) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if piece.Len()+len(line) > pieceSize && piece.Len() > 0 {
			all = append(all, piece.String())
			piece.Reset()
		}
		piece.WriteString(line)
	}
	if piece.Len() > 0 {
		all = append(all, piece.String())
	}
	return all
}
