// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

// merge merges three ways: it removes from observed what was last applied and is no longer desired,
// and puts in what is desired. All else, which others have written, stays. A value that is desired
// and already there, in the form that the host gives it, stays as it is. merge may change observed,
// and returns the result.
//
// A desired null removes what was last applied from an object, and from a list that is merged item
// by item. It removes any other value as a whole.
func (l location) merge(observed, lastApplied, desired any) any {
	switch observed := observed.(type) {
	case map[string]any:
		if wanted, ok := orNull[map[string]any](desired); ok {
			last, _ := lastApplied.(map[string]any)
			return l.mergeObjects(observed, last, wanted)
		}
	case []any:
		if wanted, ok := orNull[[]any](desired); ok {
			last, _ := lastApplied.([]any)
			return l.mergeLists(observed, last, wanted)
		}
	}
	return l.replace(observed, lastApplied, desired)
}

func (l location) mergeObjects(observed, lastApplied, desired map[string]any) map[string]any {
	for name := range lastApplied {
		if _, still := desired[name]; !still {
			delete(observed, name)
		}
	}
	for name, wanted := range desired {
		if observed[name] == nil && l.schema.Drops(name, wanted) {
			continue
		}
		below := l.field(name)
		below.unset = l.unsets(name, wanted)
		merged := below.merge(observed[name], lastApplied[name], wanted)
		if merged == nil {
			delete(observed, name)
			continue
		}
		observed[name] = merged
	}
	return observed
}

// replace returns what is desired, or what is observed if that means the same.
func (l location) replace(observed, lastApplied, desired any) any {
	if observed != nil && same(l.schema, observed, desired) || l.isHostsForm(observed, lastApplied, desired) {
		return observed
	}
	return desired
}

func orNull[T any](value any) (T, bool) {
	typed, ok := value.(T)
	return typed, ok || value == nil
}
