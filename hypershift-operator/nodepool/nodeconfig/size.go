package nodeconfig

import (
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_4/types"
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

// partSize returns the size of a part of user data.
type partSize func(content string) int

// tooLarge finds the largest part, which a user should make smaller.
func tooLarge(size int, c types.Config, sizeOf partSize) error {
	e := &TooLargeError{Size: size}
	part := func(name string, bytes int) {
		if bytes > e.PartSize {
			e.Part, e.PartSize = name, bytes
		}
	}
	for _, f := range c.Storage.Files {
		bytes := sizeOf(ptr.Deref(f.Contents.Source, ""))
		for _, r := range f.Append {
			bytes += sizeOf(ptr.Deref(r.Source, ""))
		}
		name := "file " + f.Path
		if f.Path == trustFile {
			name = "the additional trust bundle"
		}
		part(name, bytes)
	}
	for _, u := range c.Systemd.Units {
		bytes := sizeOf(ptr.Deref(u.Contents, ""))
		for _, d := range u.Dropins {
			bytes += sizeOf(ptr.Deref(d.Contents, ""))
		}
		part("unit "+u.Name, bytes)
	}
	for _, u := range c.Passwd.Users {
		bytes := 0
		for _, key := range u.SSHAuthorizedKeys {
			bytes += sizeOf(string(key))
		}
		part("the SSH keys of user "+u.Name, bytes)
	}
	return e
}
