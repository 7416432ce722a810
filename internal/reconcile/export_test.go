package reconcile

// Objects returns how many objects the Store remembers.
func (s *Store[T]) Objects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// Retention is how long the Store remembers an object.
const Retention = retention

// Waiting returns how many changes wait for the write that is in flight.
func (s *Store[T]) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.objects {
		n += len(e.waiting)
	}
	return n
}

// Register adds the controller's part to its Store, as Builder does.
func (c *Controller[T, S]) Register() {
	c.part()
	c.spaceWrites()
}

// Validate finds errors in the controller, as Builder does.
func (c *Controller[T, S]) Validate() error { return c.validate() }
