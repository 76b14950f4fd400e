// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// syncing is the sync of one parent in a review.
type syncing struct {
	spec       *v1alpha1.SyncReviewSpec
	permit     *permit
	isAuthor   bool
	controller *preview.Previewer

	mu      sync.Mutex
	conceal *redact.Concealer
	// given are the calls whose answers are in the spec.
	given map[callKey]bool
}

// callKey tells the calls about one parent.
type callKey struct{ hook, revision string }

func keyOf(call *hook.Call) callKey { return callKey{call.Hook, call.Snapshot.Revision} }

func (r *reviewing) newSync(controller *preview.Previewer) *syncing {
	return &syncing{
		spec: r.spec, permit: r.permit, isAuthor: r.isAuthor, controller: controller,
		conceal: r.key.New(), given: map[callKey]bool{},
	}
}

// options returns how the sync is previewed.
func (s *syncing) options() preview.Options {
	options := preview.Options{
		Until: s.spec.Until, CallHooks: s.spec.Calls != v1alpha1.SyncReviewCallsNone, Answer: s.answer, Permit: s.permit.check,
		IsAuthor: s.isAuthor,
	}
	if s.spec.Request != nil {
		options.Request = s.spec.Request.Raw
	}
	return options
}

// errOldDigests is the error of an answer that is made of another request.
var errOldDigests = errors.New("the answer has digests of Secrets that are not in the request: it is the answer to a " +
	"request of before the controllers were started, or the Secrets have changed; review without it, and answer the " +
	"request that this shows")

// answer returns the answer that the spec gives to a call; nil if it gives none. Where it has digests of
// Secrets in the request, it gets the values.
func (s *syncing) answer(call hook.Call) ([]byte, error) {
	given := s.givenTo(&call)
	if given == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given[keyOf(&call)] = true
	s.conceal.Learn(call.Request)
	revealed := s.conceal.Reveal(given)
	if redact.HasDigest(revealed) {
		return nil, errOldDigests
	}
	return revealed, nil
}

func (s *syncing) givenTo(call *hook.Call) []byte {
	about := call.Snapshot.Parent
	for i := range s.spec.Responses {
		one := &s.spec.Responses[i]
		if one.Hook == call.Hook && one.Revision == call.Snapshot.Revision && names(one.Parent, about) {
			return one.Response.Raw
		}
	}
	if s.spec.Response != nil && call.Hook != hook.Customize && call.Snapshot.Present == nil {
		return s.spec.Response.Raw
	}
	return nil
}

// names reports whether a name is that of a parent. No name is that of any.
func names(named *v1alpha1.SyncReviewParent, parent *object.Object) bool {
	return named == nil || named.Name == parent.Name && named.Namespace == parent.Namespace &&
		(named.Kind == "" || named.Kind == parent.Kind) && (named.APIVersion == "" || named.APIVersion == parent.APIVersion)
}
