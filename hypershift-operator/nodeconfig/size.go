package nodeconfig

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"
)

// Limit is the maximum size of user data on EC2 (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html).
const Limit = 16 << 10

// A TooLargeError is returned for user data that EC2 would refuse. It names the largest part.
type TooLargeError struct {
	Size, PartSize int
	Part           string
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the user data would have %d bytes and EC2 accepts %d; the largest part is %s with %d bytes", e.Size, Limit, e.Part, e.PartSize)
}

// inline returns content as a data URL, compressed if that is shorter.
func inline(content []byte) types.Resource {
	plain := "data:," + url.PathEscape(string(content))
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, err := w.Write(content)
	if err = cmp.Or(err, w.Close()); err != nil {
		return types.Resource{Source: &plain} // a buffer does not fail
	}
	short := "data:;base64," + base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(plain) <= len(short)+len(`"compression":"gzip",`) {
		return types.Resource{Source: &plain}
	}
	return types.Resource{Source: &short, Compression: ptr.To("gzip")}
}

// compressFiles compresses the files that users wrote as plain text.
func compressFiles(c *types.Config) error {
	for i := range c.Storage.Files {
		f := &c.Storage.Files[i]
		for _, r := range append([]*types.Resource{&f.Contents}, pointers(f.Append)...) {
			source := ptr.Deref(r.Source, "")
			if len(source) < len("data:") || source[:len("data:")] != "data:" || ptr.Deref(r.Compression, "") != "" {
				continue
			}
			content, err := dataurl.DecodeString(source)
			if err != nil {
				return fmt.Errorf("decoding the contents of %s: %w", f.Path, err)
			}
			if small := inline(content.Data); len(*small.Source) < len(source) {
				r.Source, r.Compression = small.Source, small.Compression
			}
		}
	}
	return nil
}

func pointers(resources []types.Resource) []*types.Resource {
	var all []*types.Resource
	for i := range resources {
		all = append(all, &resources[i])
	}
	return all
}

// compact returns the configuration without the empty values of its types.
func compact(c types.Config) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // one byte for ">" instead of six
	if err := encoder.Encode(withoutEmpty(tree)); err != nil {
		return nil, fmt.Errorf("writing Ignition: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if inner = withoutEmpty(inner); inner == nil {
				delete(value, key)
			} else {
				value[key] = inner
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		for i := range value {
			value[i] = withoutEmpty(value[i])
		}
		if len(value) == 0 {
			return nil
		}
	}
	return value
}

// tooLarge finds the largest part, which a user should make smaller.
func tooLarge(size int, c types.Config) error {
	e := &TooLargeError{Size: size}
	part := func(name string, bytes int) {
		if bytes > e.PartSize {
			e.Part, e.PartSize = name, bytes
		}
	}
	for _, f := range c.Storage.Files {
		bytes := len(ptr.Deref(f.Contents.Source, ""))
		for _, r := range f.Append {
			bytes += len(ptr.Deref(r.Source, ""))
		}
		name := "file " + f.Path
		if f.Path == trustFile {
			name = "the additional trust bundle"
		}
		part(name, bytes)
	}
	for _, u := range c.Systemd.Units {
		bytes := len(ptr.Deref(u.Contents, ""))
		for _, d := range u.Dropins {
			bytes += len(ptr.Deref(d.Contents, ""))
		}
		part("unit "+u.Name, bytes)
	}
	for _, u := range c.Passwd.Users {
		bytes := 0
		for _, key := range u.SSHAuthorizedKeys {
			bytes += len(key)
		}
		part("the SSH keys of user "+u.Name, bytes)
	}
	return e
}
