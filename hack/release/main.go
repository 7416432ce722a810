package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one run.
type release struct {
	version  string // without a "v", as in image tags and in the chart
	registry string // host and path, to which names of repositories are appended
	signers  []signer
	pin      bool   // whether payloads name components by digest
	root     string // of the checkout
	dist     string // directory of the files of this release
	bundle   string // file with the programs of the lab, which becomes one of them; none if it is empty
	commit   string
	date     time.Time // of the commit: all files and images have this time
	tools    map[string]string
	progress io.Writer
}

// semver is the form of versions that image tags and Helm accept.
var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, args []string, progress io.Writer) error {
	r := &release{progress: progress}
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&r.version, "version", "", "version of the release, such as 0.1.0 or 0.2.0-rc.1")
	fs.StringVar(&r.registry, "registry", "", "registry and path of the images, such as ghcr.io/hosted-control-planes; credentials are those of `docker login`")
	fs.StringVar(&r.dist, "output", "", "directory for the files of the release (default dist/<version>)")
	fs.StringVar(&r.bundle, "bundle", "", "a file that make bundle has written, to publish it with the release")
	key := fs.String("key", "", "sign with this key of cosign: a file, a URI of a KMS, or env://VARIABLE")
	keyless := fs.Bool("keyless", false, "sign with the identity of this workflow, and log the signatures in Rekor; can be combined with -key")
	dirty := fs.Bool("dirty", false, "release a checkout with changes that are not committed")
	fs.BoolVar(&r.pin, "pin", true, "name the components of payloads by the digests that their tags have now")
	if err := fs.Parse(args); err != nil {
		return err
	}
	r.version = strings.TrimPrefix(r.version, "v")
	switch {
	case !semver.MatchString(r.version):
		return fmt.Errorf("-version is %q: use a semantic version such as 0.1.0 or 0.2.0-rc.1", r.version)
	case r.registry == "":
		return errors.New("-registry is missing: the registry and path of the images, such as ghcr.io/hosted-control-planes")
	case *key == "" && !*keyless:
		return errors.New("a release is signed: set -key, or -keyless in a workflow")
	}
	if *key != "" {
		r.signers = append(r.signers, withKey(*key))
	}
	if *keyless {
		r.signers = append(r.signers, keylessSigner)
	}
	if err := r.checkBundle(); err != nil {
		return err
	}
	if err := r.prepare(ctx, *dirty); err != nil {
		return err
	}
	return r.make(ctx)
}

// prepare reads the commit, makes the directory of files and builds the tools.
func (r *release) prepare(ctx context.Context, dirty bool) error {
	var err error
	if r.root, err = pinned.Root(); err != nil {
		return err
	}
	if r.commit, r.date, err = r.head(ctx, dirty); err != nil {
		return err
	}
	if r.dist == "" {
		r.dist = filepath.Join(r.root, "dist", r.version)
	}
	if r.dist, err = filepath.Abs(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return fmt.Errorf("creating the directory for the files of the release: %w", err)
	}
	if r.tools, err = pinned.Ensure(ctx, r.progress, "ko", "syft", "cosign", "helm", "root-cas"); err != nil {
		return err
	}
	return nil
}

// make builds everything, then pushes and signs it.
func (r *release) make(ctx context.Context) error {
	notes, err := r.changes()
	if err != nil {
		return err
	}
	staging, err := startStaging()
	if err != nil {
		return err
	}
	defer staging.stop()

	r.report("building the image for %s", strings.Join(platforms, " and "))
	image, err := r.operatorImage(ctx, staging)
	if err != nil {
		return err
	}
	r.report("listing what the image contains")
	boms, err := r.describe(ctx, staging, image)
	if err != nil {
		return err
	}
	if err := r.commandLine(ctx); err != nil {
		return err
	}
	charts, err := r.charts(ctx, staging, image)
	if err != nil {
		return err
	}
	payloads, err := r.payloads(ctx, staging)
	if err != nil {
		return err
	}
	all := slices.Concat([]artifact{image}, charts, payloads)

	// No artifact is pushed if one of the tags is taken.
	for _, a := range all {
		if err := r.reserve(ctx, a); err != nil {
			return err
		}
	}
	for _, a := range all {
		r.report("pushing %s", r.named(a))
		if err := r.push(ctx, staging, a); err != nil {
			return err
		}
		if err := r.sign(ctx, a); err != nil {
			return err
		}
	}
	if err := r.attest(ctx, boms); err != nil {
		return err
	}
	if err := r.labBundle(); err != nil {
		return err
	}
	return r.writeFiles(ctx, notes, all)
}

func (r *release) report(format string, args ...any) {
	fmt.Fprintf(r.progress, format+"\n", args...)
}

// head returns the commit of the checkout and its date.
func (r *release) head(ctx context.Context, dirty bool) (string, time.Time, error) {
	described, err := r.output(ctx, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", time.Time{}, err
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(described), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("reading the date of commit %s: %w", commit, err)
	}
	changes, err := r.output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return "", time.Time{}, err
	}
	if changes != "" {
		if !dirty {
			return "", time.Time{}, fmt.Errorf("the checkout has changes that are not committed (-dirty releases it all the same):\n%s", changes)
		}
		commit += "-dirty"
	}
	return commit, time.Unix(at, 0).UTC(), nil
}

// output runs a program in the root of the checkout and returns its output. The date of the commit is the time of files that tools
// create.
func (r *release) output(ctx context.Context, program string, args ...string) (string, error) {
	return r.outputWith(ctx, nil, program, args...)
}

func (r *release) outputWith(ctx context.Context, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = r.root
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.date.Unix(), 10)), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
