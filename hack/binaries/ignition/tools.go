//go:build tools

package tools

import _ "github.com/coreos/ignition/v2/internal"
