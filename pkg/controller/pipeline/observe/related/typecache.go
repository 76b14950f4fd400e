// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// typesLast is how long a type that was found is not looked up again. Discovery keeps nothing about
// types whose definitions have just changed. When the process starts these are all types, and the
// syncs of a thousand parents would send as many requests to the host.
const typesLast = time.Second

// cacheTypes returns a function that resolves types like resolve, and returns a type that it has
// found without another lookup for the time of typesLast.
func cacheTypes(resolve ResolveFunc) ResolveFunc {
	type name struct{ apiVersion, resource string }
	type found struct {
		object.Type
		at time.Time
	}
	var mu sync.Mutex
	known := map[name]found{}
	return func(ctx context.Context, apiVersion, resource string) (object.Type, error) {
		name := name{apiVersion, resource}
		mu.Lock()
		last, ok := known[name]
		mu.Unlock()
		if ok && time.Since(last.at) < typesLast {
			return last.Type, nil
		}
		of, err := resolve(ctx, apiVersion, resource)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			delete(known, name)
			return of, err
		}
		known[name] = found{of, time.Now()}
		return of, nil
	}
}
