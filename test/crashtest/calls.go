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

// ErrCrashed is the error of every call that a controller makes after its simulated crash.
var ErrCrashed = errors.New("the process died")

// A CallCounter counts the writes of one controller and simulates its crash after a given write.
type CallCounter struct {
	mu      sync.Mutex
	writes  int
	log     []string
	crashAt int
	crashed bool
}

// Writes returns the number of writes so far, including those that were refused.
func (cc *CallCounter) Writes() int {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.writes
}

// Log returns the descriptions of the writes, beginning with the write number from.
func (cc *CallCounter) Log(from int) []string {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return append([]string(nil), cc.log[from:]...)
}

// crashAfter makes the n-th write from now the last one.
func (cc *CallCounter) crashAfter(n int) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.crashAt, cc.crashed = cc.writes+n, false
}

// restart ends the simulated crash and cancels a planned one.
func (cc *CallCounter) restart() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.crashAt, cc.crashed = 0, false
}

func (cc *CallCounter) isCrashed() bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.crashed
}

// read passes a read on, unless the process has crashed.
func (cc *CallCounter) read(do func() error) error {
	if cc.isCrashed() {
		return ErrCrashed
	}
	return do()
}

// write passes a write on and counts it. If it is the last write before the crash, its response is replaced by ErrCrashed.
func (cc *CallCounter) write(what string, do func() error) error {
	if cc.isCrashed() {
		return ErrCrashed
	}
	err := do()
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.writes++
	cc.log = append(cc.log, what)
	if cc.writes == cc.crashAt {
		cc.crashed = true
		return ErrCrashed
	}
	return err
}

// Middleware counts the calls of SDK clients. It must be installed above the fake: one call is one write, however often
// the SDK retries it.
func (cc *CallCounter) Middleware(stack *middleware.Stack) error {
	if _, presigned := stack.Finalize.Get("PresignHTTPRequest"); presigned {
		return nil // no call is made
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("crashtestCallCounter",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
			call := func() error {
				out, md, err = next.HandleInitialize(ctx, in)
				return err
			}
			operation := middleware.GetOperationName(ctx)
			if readsOnly(operation) {
				err = cc.read(call)
			} else {
				err = cc.write("aws "+operation, call)
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

// client wraps c for the controller under test. Created objects get a UID, which the fake API server leaves out, and calls
// fail according to faults.
func (cc *CallCounter) client(c client.WithWatch, scheme *runtime.Scheme, uids *uids, faults *faults) client.Client {
	read := func(what string, do func() error) error {
		return cc.read(func() error { return faults.read(what, do) })
	}
	write := func(what string, do func() error) error {
		return cc.write(what, func() error { return faults.write(what, do) })
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
				uids.assign(obj)
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
				return uids.assignApplied(ctx, c, obj)
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
				return returnApplied(ctx, c, obj)
			})
		},
	})
}
