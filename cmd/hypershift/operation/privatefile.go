package operation

import (
	"errors"
	"fmt"
	"os"
)

// WritePrivate writes a file that contains a secret. Only its user may read it, also if the file existed with other permissions. A device,
// such as /dev/stdout, keeps its own.
func WritePrivate(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
		if err := errors.Join(err, file.Chmod(0o600)); err != nil {
			return errors.Join(fmt.Errorf("making the file private: %w", err), file.Close())
		}
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
