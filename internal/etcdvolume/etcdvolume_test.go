package etcdvolume

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		size string
		want int64
	}{
		"the default volume":                 {"8Gi", 3759 * mib},
		"a small volume":                     {"1Gi", 283 * mib},
		"a size that is no whole MiB":        {"1G", 248 * mib},
		"a size in the exponential form":     {"10e9", 4411 * mib},
		"one that does not hold its log":     {"256Mi", 51 * mib},
		"one that holds more than it should": {"100Gi", 8192 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Quota(resource.MustParse(c.size)); got != c.want {
				t.Errorf("got %d MiB, want %d", got/mib, c.want/mib)
			}
		})
	}
}

// A lagging member holds two copies of its database for some time.
func TestVolumeFitsTwoCopiesOfTheDatabase(t *testing.T) {
	for _, size := range []string{"1Gi", "2Gi", "8Gi", "16Gi", "100Gi"} {
		volume := resource.MustParse(size)
		if left := volume.Value() - 2*Quota(volume) - logSize; left < volume.Value()*3/100 {
			t.Errorf("on a volume of %s the file system has %d MiB", size, left/mib)
		}
	}
}
