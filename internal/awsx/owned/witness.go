package owned

import "context"

// A Witness hears what is done to one resource. Its zero value hears nothing.
type Witness struct {
	// Creating is called before the resource is made, so that it can be written
	// down that there may be one. If it fails, nothing is made.
	Creating func(context.Context) error
	// Changed is called after something about the resource was put right, and
	// GivenUp when it cannot be and is left as it is. Both get the resource's id
	// and words for a person.
	Changed, GivenUp func(id, what string)
}

// BeforeCreate says that the resource is about to be made.
func (w Witness) BeforeCreate(ctx context.Context) error {
	if w.Creating == nil {
		return nil
	}
	return w.Creating(ctx)
}

// Tell says what was done to the resource.
func (w Witness) Tell(id, what string) {
	if w.Changed != nil {
		w.Changed(id, what)
	}
}

// TellOfGivingUp says what was not done to the resource, and why.
func (w Witness) TellOfGivingUp(id, what string) {
	if w.GivenUp != nil {
		w.GivenUp(id, what)
	}
}
