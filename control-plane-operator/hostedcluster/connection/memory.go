package connection

import "reflect"

// Memory returns a package's memory of a cluster: one value per type, zero at first. A new kubeconfig is a new connection with an
// empty memory.
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
