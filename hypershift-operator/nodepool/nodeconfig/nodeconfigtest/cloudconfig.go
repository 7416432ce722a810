package nodeconfigtest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// CloudConfig returns the text of compressed user data for cloud-init.
func CloudConfig(userData []byte) (string, error) {
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		return "", fmt.Errorf("reading user data: %w", err)
	}
	if kind, encoding := message.Header.Get("Content-Type"), message.Header.Get("Content-Transfer-Encoding"); kind != "application/gzip" || encoding != "base64" {
		return "", fmt.Errorf("user data is %s in %s", kind, encoding)
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, message.Body))
	if err != nil {
		return "", fmt.Errorf("unpacking user data: %w", err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		return "", fmt.Errorf("unpacking user data: %w", err)
	}
	if !strings.HasPrefix(string(text), "#cloud-config\n") {
		return "", fmt.Errorf("user data begins with %.20q", text)
	}
	return string(text), nil
}

const unitDirectory = "/etc/systemd/system/"

// readCloudConfig reads user data for cloud-init. Units are files, and commands enable them.
func readCloudConfig(userData []byte) (*Node, error) {
	text, err := CloudConfig(userData)
	if err != nil {
		return nil, err
	}
	var c struct {
		Users      []any `json:"users"`
		WriteFiles []struct {
			Path        string `json:"path"`
			Permissions string `json:"permissions"`
			Owner       string `json:"owner"`
			Defer       bool   `json:"defer"`
			Append      bool   `json:"append"`
			Encoding    string `json:"encoding"`
			Content     string `json:"content"`
		} `json:"write_files"`
		RunCmd [][]string `json:"runcmd"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("parsing user data: %w", err)
	}
	n := &Node{Files: map[string]string{}, Units: map[string]string{}, Modes: map[string]os.FileMode{}, SSHKeys: map[string][]string{}}
	for _, f := range c.WriteFiles {
		if f.Encoding == "b64" {
			decoded, err := base64.StdEncoding.DecodeString(f.Content)
			if err != nil {
				return nil, fmt.Errorf("unpacking %s: %w", f.Path, err)
			}
			f.Content = string(decoded)
		}
		if unit, ok := strings.CutPrefix(f.Path, unitDirectory); ok {
			if name, _, dropin := strings.Cut(unit, ".d/"); dropin {
				if _, defined := n.Units[name]; !defined {
					n.Units[name] = "" // the unit itself is part of the image
				}
			}
			n.Units[unit] = f.Content
			continue
		}
		if f.Append {
			f.Content = n.Files[f.Path] + f.Content
		}
		mode, err := strconv.ParseUint(f.Permissions, 8, 12)
		if err != nil {
			return nil, fmt.Errorf("reading the permissions of %s: %w", f.Path, err)
		}
		n.Files[f.Path], n.Modes[f.Path] = f.Content, os.FileMode(mode)
	}
	for _, run := range c.RunCmd {
		if len(run) > 4 && slices.Equal(run[:4], []string{"systemctl", "enable", "--now", "--no-block"}) {
			n.Enabled = append(n.Enabled, run[4:]...)
		}
	}
	for _, u := range c.Users {
		if user, ok := u.(map[string]any); ok {
			keys, _ := user["ssh_authorized_keys"].([]any)
			for _, key := range keys {
				n.SSHKeys[fmt.Sprint(user["name"])] = append(n.SSHKeys[fmt.Sprint(user["name"])], fmt.Sprint(key))
			}
		}
	}
	return n, errors.Join(n.readKubeconfig(), n.readFlags())
}
