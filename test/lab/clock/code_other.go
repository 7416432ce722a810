//go:build !amd64

package clock

import (
	"errors"
	"time"
)

var replacements map[string]func(seconds int32) []byte

func (v *vdso) code(time.Duration) (functions, error) {
	return nil, errors.New("clocks of machines can only be set on amd64")
}

func instruction(int) (int64, error) { return 0, errors.ErrUnsupported }
