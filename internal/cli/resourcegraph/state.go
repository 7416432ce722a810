package resourcegraph

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Record holds the recorded facts about a node's resource.
type Record struct {
	// ID is empty while the outcome of the creation is unknown.
	ID string `json:"id,omitempty"`
	// Token is the token of the last creation, Time its time.
	Token string    `json:"token,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

// document is the state file.
type document struct {
	Version int `json:"version"`
	// Scope identifies the scope of the ids, such as the account and the region.
	Scope     map[string]string `json:"scope,omitempty"`
	Resources map[string]Record `json:"resources"`
}

const version = 1

// State is the recorded state of a graph. It is saved with every change.
type State struct {
	mu   sync.Mutex
	doc  document
	save func([]byte) error
}

// NewState returns a state that calls save with every change. Save returns when the state is durable.
func NewState(text []byte, save func([]byte) error) (*State, error) {
	s := &State{doc: document{Version: version, Resources: map[string]Record{}}, save: save}
	if len(text) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(text, &s.doc); err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	if s.doc.Version != version {
		return nil, fmt.Errorf("the state has version %d, and this program knows version %d", s.doc.Version, version)
	}
	if s.doc.Resources == nil {
		s.doc.Resources = map[string]Record{}
	}
	return s, nil
}

// NewMemory returns a state that is not saved.
func NewMemory() *State {
	return &State{doc: document{Version: version, Resources: map[string]Record{}}, save: func([]byte) error { return nil }}
}

// CheckScope compares the scope with the recorded scope, and records it. Ids of another account would be looked up
// in this one, not found, and created again.
func (s *State) CheckScope(scope map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, want := range scope {
		if have, ok := s.doc.Scope[k]; ok && have != want {
			return fmt.Errorf("the state is of %s %s, and the command is for %s", k, have, want)
		}
	}
	s.doc.Scope = scope
	return nil
}

// Scope returns the recorded scope.
func (s *State) Scope() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Scope
}

// Newest returns the time of the last creation that is recorded. A list may lack resources that were created after it.
func (s *State) Newest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest time.Time
	for _, r := range s.doc.Resources {
		if r.Time.After(newest) {
			newest = r.Time
		}
	}
	return newest
}

// Recorded is true if a creation of the node is recorded.
func (s *State) Recorded(node string) bool {
	_, ok := s.get(node)
	return ok
}

func (s *State) get(node string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.doc.Resources[node]
	return r, ok
}

func (s *State) put(node string, r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doc.Resources[node] == r {
		return nil
	}
	s.doc.Resources[node] = r
	return s.write()
}

func (s *State) remove(node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.doc.Resources[node]; !ok {
		return nil
	}
	delete(s.doc.Resources, node)
	return s.write()
}

// write is called with the lock: states must reach the file in their order.
func (s *State) write() error {
	text, err := json.MarshalIndent(s.doc, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return s.save(append(text, '\n'))
}

// File is a state in a file that one process at a time uses.
type File struct {
	*State
	path string
	lock *os.File
}

// OpenFile reads the state at path, or starts an empty one. It fails if another process has it open.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of the state: %w", err)
	}
	lock, err := openLock(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		lock.Close()
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	state, err := NewState(text, func(text []byte) error { return replaceFile(path, text) })
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &File{State: state, path: path, lock: lock}, nil
}

// openLock locks the state at path. The last user of a state deletes the lock file: a lock of a file that is not at its path any more excludes
// no other process, and is taken again.
func openLock(path string) (*os.File, error) {
	for {
		lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("locking the state: %w", err)
		}
		if err := lockFile(lock); err != nil {
			lock.Close()
			return nil, fmt.Errorf("another command uses the state %s: %w", path, err)
		}
		locked, err := lock.Stat()
		if err != nil {
			lock.Close()
			return nil, fmt.Errorf("locking the state: %w", err)
		}
		if current, err := os.Stat(lock.Name()); err == nil && os.SameFile(current, locked) {
			return lock, nil
		}
		lock.Close()
	}
}

// Path is the path of the file.
func (f *File) Path() string { return f.path }

// Close releases the state for other processes. Without a state, such as after a plan, the lock file is deleted.
func (f *File) Close() error {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(f.lock.Name()) // Windows keeps files that are open; an empty file is left there
	}
	return f.lock.Close()
}

// Remove deletes the file, after everything in it was deleted.
func (f *File) Remove() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}

// replaceFile is atomic and durable: a crash leaves the old or the new text.
func replaceFile(path string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return fmt.Errorf("saving the state: %w", err)
	}
	return nil
}

func newToken() string { return rand.Text() }
