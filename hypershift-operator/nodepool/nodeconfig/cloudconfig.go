package nodeconfig

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// cloudConfig is the part of a configuration of cloud-init that this package writes.
// https://cloudinit.readthedocs.io/en/latest/reference/modules.html
type cloudConfig struct {
	Users      []any       `json:"users,omitempty"`
	WriteFiles []writeFile `json:"write_files,omitempty"`
	RunCmd     [][]string  `json:"runcmd,omitempty"`
}

type writeFile struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Owner       string `json:"owner,omitempty"`
	// Defer writes the file after the users have been created.
	Defer    bool   `json:"defer,omitempty"`
	Append   bool   `json:"append,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Content  string `json:"content"`
}

type cloudUser struct {
	Name              string   `json:"name"`
	SSHAuthorizedKeys []string `json:"ssh_authorized_keys,omitempty"`
	Groups            []string `json:"groups,omitempty"`
	PrimaryGroup      string   `json:"primary_group,omitempty"`
	Shell             string   `json:"shell,omitempty"`
	Sudo              string   `json:"sudo,omitempty"`
	UID               *int     `json:"uid,omitempty"`
	Gecos             string   `json:"gecos,omitempty"`
	HomeDir           string   `json:"homedir,omitempty"`
	NoCreateHome      bool     `json:"no_create_home,omitempty"`
	System            bool     `json:"system,omitempty"`
	PasswordHash      string   `json:"passwd,omitempty"`
	LockPassword      bool     `json:"lock_passwd"`
}

const (
	// cloudConfigHeader is the first line of a configuration of cloud-init.
	cloudConfigHeader = "#cloud-config\n"
	// systemUnits is the directory of the units of an administrator.
	systemUnits = "/etc/systemd/system"
)

// compressedPart begins a message with a body that is compressed with gzip and encoded. cloud-init unpacks it, and then looks for the
// header of a configuration. It also accepts gzip without a message, but user data that is text fits into every object.
const compressedPart = "MIME-Version: 1.0\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n"

// renderCloudConfig writes the model as a configuration of cloud-init.
func renderCloudConfig(c types.Config) ([]byte, error) {
	text, err := cloudConfigText(c)
	if err != nil {
		return nil, err
	}
	encoded := func(content []byte) string { return base64.StdEncoding.EncodeToString(compress(content)) }
	message := compressedPart + encoded(text) + "\n"
	if len(message) > Limit {
		return nil, tooLarge(len(message), c, func(part string) int { return len(encoded([]byte(part))) })
	}
	return []byte(message), nil
}

func cloudConfigText(c types.Config) ([]byte, error) {
	config, unpack := cloudConfig{}, newUnpacker()
	for _, f := range c.Storage.Files {
		files, err := writeFiles(f, unpack)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.Path, err)
		}
		config.WriteFiles = append(config.WriteFiles, files...)
	}
	for _, u := range c.Systemd.Units {
		config.WriteFiles = append(config.WriteFiles, unitFiles(u)...)
	}
	if len(c.Passwd.Users) > 0 {
		config.Users = append(config.Users, "default") // the user of the image stays
	}
	for _, u := range c.Passwd.Users {
		config.Users = append(config.Users, cloudUserOf(u))
	}
	config.RunCmd = commands(c)
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing cloud-config: %w", err)
	}
	return append([]byte(cloudConfigHeader), text...), nil
}

// writeFiles returns a file, and the entries that append to it.
func writeFiles(f types.File, unpack *unpacker) ([]writeFile, error) {
	base := writeFile{Path: f.Path, Permissions: fmt.Sprintf("%04o", ptr.Deref(f.Mode, 0o644)), Owner: owner(f.Node)}
	base.Defer = base.Owner != ""
	var all []writeFile
	if f.Contents.Source != nil || len(f.Append) == 0 {
		one, err := base.with(f.Contents, unpack)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for _, r := range f.Append {
		one, err := base.with(r, unpack)
		if err != nil {
			return nil, err
		}
		one.Append = true
		all = append(all, one)
	}
	return all, nil
}

func (w writeFile) with(r types.Resource, unpack *unpacker) (writeFile, error) {
	content, err := unpack.contentOf(r)
	if err != nil {
		return w, err
	}
	w.Content = string(content)
	if !utf8.Valid(content) {
		w.Encoding, w.Content = "b64", base64.StdEncoding.EncodeToString(content)
	}
	return w, nil
}

// maxUnpacked is the largest size of all compressed contents of a configuration after they are unpacked. 1 KB of a ConfigMap may become
// 1 MB, in an operator that serves many users. Files of that size do not fit into user data.
const maxUnpacked = 1 << 20

// An unpacker reads the contents of a configuration.
type unpacker struct{ left int64 }

func newUnpacker() *unpacker { return &unpacker{left: maxUnpacked} }

// contentOf returns the content of a data URL.
func (u *unpacker) contentOf(r types.Resource) ([]byte, error) {
	source := ptr.Deref(r.Source, "data:,")
	if !strings.HasPrefix(source, "data:") {
		return nil, errors.New("its content is not part of the configuration")
	}
	content, err := dataurl.DecodeString(source)
	if err != nil || ptr.Deref(r.Compression, "") == "" {
		return ptr.Deref(content, dataurl.DataURL{}).Data, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(content.Data))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, u.left+1))
	if u.left -= int64(len(text)); u.left < 0 {
		return nil, fmt.Errorf("the compressed contents have more than %d MiB", maxUnpacked>>20)
	}
	return text, err
}

// owner returns user and group, or "" for root.
func owner(n types.Node) string {
	name := func(name *string, id *int) string {
		if id != nil {
			return fmt.Sprint(*id)
		}
		return cmp.Or(ptr.Deref(name, ""), "root")
	}
	if both := name(n.User.Name, n.User.ID) + ":" + name(n.Group.Name, n.Group.ID); both != "root:root" && both != "0:0" {
		return both
	}
	return ""
}

func unitFiles(u types.Unit) []writeFile {
	var all []writeFile
	if u.Contents != nil {
		all = append(all, writeFile{Path: systemUnits + "/" + u.Name, Permissions: "0644", Content: *u.Contents})
	}
	for _, d := range u.Dropins {
		all = append(all, writeFile{Path: systemUnits + "/" + u.Name + ".d/" + d.Name, Permissions: "0644", Content: ptr.Deref(d.Contents, "")})
	}
	return all
}

// cloudUserOf returns a user. SSHUser exists on images with Ignition, where it may become root. It can do so on all images.
func cloudUserOf(u types.PasswdUser) cloudUser {
	out := cloudUser{
		Name: u.Name, UID: u.UID, Gecos: ptr.Deref(u.Gecos, ""), HomeDir: ptr.Deref(u.HomeDir, ""), Shell: ptr.Deref(u.Shell, ""),
		PrimaryGroup: ptr.Deref(u.PrimaryGroup, ""), NoCreateHome: ptr.Deref(u.NoCreateHome, false), System: ptr.Deref(u.System, false),
		PasswordHash: ptr.Deref(u.PasswordHash, ""), LockPassword: u.PasswordHash == nil,
	}
	for _, key := range u.SSHAuthorizedKeys {
		out.SSHAuthorizedKeys = append(out.SSHAuthorizedKeys, string(key))
	}
	for _, group := range u.Groups {
		out.Groups = append(out.Groups, string(group))
	}
	if u.Name == SSHUser {
		out.Shell, out.Sudo = cmp.Or(out.Shell, "/bin/bash"), "ALL=(ALL) NOPASSWD:ALL"
	}
	return out
}

// commands returns the commands that run after the files have been written. Units are started without waiting for them: cloud-init is a
// unit, and some of them start after it.
func commands(c types.Config) [][]string {
	var run [][]string
	for _, d := range c.Storage.Directories {
		install := []string{"install", "-d", "-m", fmt.Sprintf("%04o", ptr.Deref(d.Mode, 0o755))}
		if user, group, owned := strings.Cut(owner(d.Node), ":"); owned {
			install = append(install, "-o", user, "-g", group)
		}
		run = append(run, append(install, d.Path))
	}
	for _, l := range c.Storage.Links {
		kind := "-sfn"
		if ptr.Deref(l.Hard, false) {
			kind = "-fn"
		}
		run = append(run, []string{"ln", kind, ptr.Deref(l.Target, ""), l.Path})
	}
	var masked, disabled, enabled []string
	for _, u := range c.Systemd.Units {
		switch {
		case ptr.Deref(u.Mask, false):
			masked = append(masked, u.Name)
		case u.Enabled != nil && *u.Enabled:
			enabled = append(enabled, u.Name)
		case u.Enabled != nil:
			disabled = append(disabled, u.Name)
		}
	}
	run = append(run, []string{"systemctl", "daemon-reload"})
	for _, verb := range []struct {
		args, units []string
	}{
		{[]string{"mask", "--now"}, masked}, {[]string{"disable", "--now"}, disabled}, {[]string{"enable", "--now", "--no-block"}, enabled},
	} {
		// One by one: systemctl would change none of them if the machine lacks one.
		for _, unit := range verb.units {
			run = append(run, slices.Concat([]string{"systemctl"}, verb.args, []string{unit}))
		}
	}
	return run
}

// CheckFormat returns the parts of a configuration that user data of a format cannot have. All configurations can be written as
// Ignition.
func CheckFormat(c Config, format hyperv1.UserDataFormat) []string {
	if format != hyperv1.UserDataFormatCloudConfig {
		return nil
	}
	var problems []string
	unpack := newUnpacker()
	for _, raw := range c.Ignition {
		config, err := parseIgnition(raw)
		if err != nil {
			return []string{err.Error()}
		}
		problems = append(problems, notInCloudConfig(config, unpack)...)
	}
	return problems
}

// notInCloudConfig lists the fields that are left when those that renderCloudConfig writes are removed.
func notInCloudConfig(c types.Config, unpack *unpacker) []string {
	var problems []string
	for _, f := range c.Storage.Files {
		for _, r := range append([]types.Resource{f.Contents}, f.Append...) {
			if _, err := unpack.contentOf(r); err != nil {
				problems = append(problems, fmt.Sprintf("file %s of a MachineConfig: %v: write a data: URL, or use an image with Ignition", f.Path, err))
			}
		}
	}
	c.Storage.Files, c.Storage.Directories, c.Storage.Links, c.Systemd = nil, nil, nil, types.Systemd{}
	users := slices.Clone(c.Passwd.Users)
	for i, u := range users {
		users[i] = types.PasswdUser{NoLogInit: u.NoLogInit, NoUserGroup: u.NoUserGroup, ShouldExist: u.ShouldExist}
	}
	c.Passwd.Users = users
	text, err := compact(c)
	if err != nil {
		return append(problems, err.Error())
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return append(problems, err.Error())
	}
	for _, section := range slices.Sorted(maps.Keys(tree)) {
		fields, _ := tree[section].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if section == "ignition" && field == "version" {
				continue
			}
			problems = append(problems, fmt.Sprintf("%s.%s of a MachineConfig cannot be written for cloud-init: use an image with Ignition", section, field))
		}
	}
	return problems
}
