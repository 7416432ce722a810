// Package ext replaces a module inside the repository of Traefik, which the module proxy does not serve: the fields that a derived product adds
// to the configuration. Traefik adds none.
package ext

type (
	HTTP      struct{}
	Router    struct{}
	RouterIng struct{}
)

// ToRouter returns the fields of a router.
func (RouterIng) ToRouter() Router { return Router{} }
