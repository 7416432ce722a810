package awsx

import "context"

// Hooks are called when a resource is changed. The zero value has no effect.
type Hooks struct {
	// BeforeCreate is called before the resource is created, so that the attempt
	// can be recorded. If it fails, the resource is not created.
	BeforeCreate func(context.Context) error
	// OnChange is called after drift of the resource was repaired, and OnSkip when
	// a repair is not possible and not tried again. Both get the id of the resource
	// and a description for users.
	OnChange, OnSkip func(id, what string)
}

// Creating calls BeforeCreate.
func (h Hooks) Creating(ctx context.Context) error {
	if h.BeforeCreate == nil {
		return nil
	}
	return h.BeforeCreate(ctx)
}

// Changed calls OnChange.
func (h Hooks) Changed(id, what string) {
	if h.OnChange != nil {
		h.OnChange(id, what)
	}
}

// Skipped calls OnSkip.
func (h Hooks) Skipped(id, what string) {
	if h.OnSkip != nil {
		h.OnSkip(id, what)
	}
}
