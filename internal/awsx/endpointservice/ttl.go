package endpointservice

import (
	"hash/fnv"
	"time"
)

// DefaultPermissionsAge is how long the principals of a service are believed.
// AWS lists them for one service per call, so this is what a service costs at
// rest; what it protects is that only roles we named may connect, and nobody
// changes that by accident.
const DefaultPermissionsAge = 12 * time.Hour

// permissionsAge spreads the looks of many services over a quarter of the age.
func (s *Services) permissionsAge(id string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(id))
	return s.opts.PermissionsAge + s.opts.PermissionsAge/4*time.Duration(h.Sum32()%256)/256
}
