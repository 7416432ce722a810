package cloud

import (
	"os"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/lab/isolated"
)

func TestMain(m *testing.M) { os.Exit(isolated.Run(m)) }
