package crashtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/smithy-go/middleware"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrDied is what a controller hears once its life is over.
var ErrDied = errors.New("the process died")

// A Life counts the writes of one controller and ends when it is told to.
type CallCounter struct {
	mu     sync.Mutex
	writes int
	log    []string
	dieAt  int
	dead   bool
}

// Writes returns how many writes were made so far, refused ones too.
func (l *CallCounter) Writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// Log returns what was written since the write that has the number from.
func (l *CallCounter) Log(from int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.log[from:]...)
}

// dieAfter lets the n-th write from now be the last one.
func (l *CallCounter) dieAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dieAt, l.dead = l.writes+n, false
}

// reborn ends death, and the danger of it.
func (l *CallCounter) reborn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dieAt, l.dead = 0, false
}

func (l *CallCounter) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// read lets a read through unless the process is dead.
func (l *CallCounter) read(do func() error) error {
	if l.isDead() {
		return ErrDied
	}
	return do()
}

// write lets a write through, counts it, and loses its answer if it is the last one.
func (l *CallCounter) write(what string, do func() error) error {
	if l.isDead() {
		return ErrDied
	}
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	l.log = append(l.log, what)
	if l.writes == l.dieAt {
		l.dead = true
		return ErrDied
	}
	return err
}

// Middleware counts the calls of SDK clients. Install it on top of the fake:
// one call is one write, however often the SDK retries it.
func (l *CallCounter) Middleware(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("trialLife",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
			call := func() error {
				out, md, err = next.HandleInitialize(ctx, in)
				return err
			}
			operation := middleware.GetOperationName(ctx)
			if readsOnly(operation) {
				err = l.read(call)
			} else {
				err = l.write("aws "+operation, call)
			}
			return out, md, err
		}), middleware.Before)
}

func readsOnly(operation string) bool {
	for _, prefix := range []string{"Describe", "List", "Get", "Head", "Assume"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}

// client returns c as the controller sees it. Objects that it creates get a
// UID, which a fake API server leaves out; the weather spoils calls.
func (l *CallCounter) client(c client.WithWatch, scheme *runtime.Scheme, uids *uids, weather *faults) client.Client {
	read := func(what string, do func() error) error {
		return l.read(func() error { return weather.read(what, do) })
	}
	write := func(what string, do func() error) error {
		return l.write(what, func() error { return weather.write(what, do) })
	}
	name := func(verb string, obj client.Object) string {
		return verb + " " + describe(obj, scheme)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return read("get "+kind(obj, scheme)+" "+key.String(), func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return read(fmt.Sprintf("list %T", list), func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return write(name("create", obj), func() error {
				uids.give(obj)
				return c.Create(ctx, obj, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return write(name("delete", obj), func() error { return c.Delete(ctx, obj, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
			return write(name("delete all", obj), func() error { return c.DeleteAllOf(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return write(name("update", obj), func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(name("patch", obj), func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return write("apply "+describeApplied(obj), func() error {
				if err := c.Apply(ctx, obj, opts...); err != nil {
					return err
				}
				return uids.giveApplied(ctx, c, obj)
			})
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(name("update "+sub, obj), func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(name("patch "+sub, obj), func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return write("apply "+sub+" "+describeApplied(obj), func() error {
				if err := c.SubResource(sub).Apply(ctx, obj, opts...); err != nil {
					return err
				}
				return answerApplied(ctx, c, obj)
			})
		},
	})
}
