package connection

import "reflect"

// Memory returns what a package remembers about a cluster: one value per type, zero at first. A new kubeconfig is a new connection,
// which remembers nothing.
func Memory[T any](c *Cluster) *T {
	key := reflect.TypeFor[T]()
	if value, ok := c.memory[key].(*T); ok {
		return value
	}
	if c.memory == nil {
		c.memory = map[reflect.Type]any{}
	}
	value := new(T)
	c.memory[key] = value
	return value
}
