// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestTypesFoundRecentlyAreNotLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		find := cacheTypes(func(ctx context.Context, apiVersion, resource string) (object.Type, error) {
			asked++
			return resolve(ctx, apiVersion, resource)
		})
		for _, step := range []struct {
			what, resource string
			after          time.Duration
			want           int
		}{
			{"a type", "configmaps", 0, 1},
			{"the same at once", "configmaps", 0, 1},
			{"another", "secrets", 0, 2},
			{"the first after a while", "configmaps", typesLast, 3},
			{"one that is not there", "shops", 0, 4},
			{"it again", "shops", 0, 5},
		} {
			<-time.After(step.after)
			if of, _ := find(t.Context(), "v1", step.resource); step.resource != "shops" && of.Resource != step.resource {
				t.Errorf("%s: found is %v", step.what, of)
			}
			if asked != step.want {
				t.Errorf("%s: the host was asked %d times, want %d", step.what, asked, step.want)
			}
		}
	})
}
