// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

// merge applies a change of mind to what is there: what was last applied and is no
// longer desired is taken away, what is desired is put in, and all else, which
// others have written, stays. What is desired and there already, in the form that the
// host gives it, stays as it is. It may change observed and returns the result.
//
// A desired null removes: of an object or a list that is merged item by item what was
// last applied, of anything else the value itself.
func (p location) merge(observed, lastApplied, desired any) any {
	switch observed := observed.(type) {
	case map[string]any:
		if wanted, ok := objectOrNull(desired); ok {
			last, _ := lastApplied.(map[string]any)
			return p.mergeObjects(observed, last, wanted)
		}
	case []any:
		if wanted, ok := listOrNull(desired); ok {
			last, _ := lastApplied.([]any)
			return p.mergeLists(observed, last, wanted)
		}
	}
	return p.replace(observed, lastApplied, desired)
}

func (p location) mergeObjects(observed, lastApplied, desired map[string]any) map[string]any {
	for name := range lastApplied {
		if _, still := desired[name]; !still {
			delete(observed, name)
		}
	}
	for name, wanted := range desired {
		if observed[name] == nil && p.schema.Drops(name, wanted) {
			continue
		}
		merged := p.field(name).merge(observed[name], lastApplied[name], wanted)
		if merged == nil {
			delete(observed, name)
			continue
		}
		observed[name] = merged
	}
	return observed
}

// replace puts what is desired in the place of what is observed, unless that is the same.
func (p location) replace(observed, lastApplied, desired any) any {
	if observed != nil && same(p.schema, observed, desired) || p.isHostsForm(observed, lastApplied, desired) {
		return observed
	}
	return desired
}

func objectOrNull(value any) (map[string]any, bool) {
	object, ok := value.(map[string]any)
	return object, ok || value == nil
}

func listOrNull(value any) ([]any, bool) {
	list, ok := value.([]any)
	return list, ok || value == nil
}
