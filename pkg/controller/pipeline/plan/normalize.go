// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"maps"
	"slices"
)

// normalize makes of what was applied last and of what is desired what they mean to the
// host. It changes both.
func (p *parent) normalize(observed, lastApplied, desired map[string]any) (last, want map[string]any) {
	have, _ := observed["metadata"].(map[string]any)
	last, _ = lastApplied["metadata"].(map[string]any)
	want, _ = desired["metadata"].(map[string]any)
	p.keepOwner(last)
	keepFieldsOfOthers(have, last, want)
	if desired["apiVersion"] == "v1" && desired["kind"] == "Secret" {
		foldStringData(lastApplied)
		foldStringData(desired)
	}
	return lastApplied, desired
}

// keepOwner has the parent stay the controller of a child whose hook once listed the
// parent among its owners and does so no longer.
func (p *parent) keepOwner(last map[string]any) {
	owners, ok := last["ownerReferences"].([]any)
	if !ok {
		return
	}
	last["ownerReferences"] = slices.DeleteFunc(owners, func(owner any) bool {
		reference, _ := owner.(map[string]any)
		return reference["uid"] == string(p.UID)
	})
}

// keepFieldsOfOthers has only those labels, annotations, owners and finalizers removed that were
// applied when the hook no longer lists any. Others put theirs into the same fields,
// which is why here, unlike in the rest of a child, a field that is not there says
// the same as an empty one. In Metacontroller it takes away those of others too.
func keepFieldsOfOthers(observed, lastApplied, desired map[string]any) {
	for _, name := range [...]string{"labels", "annotations", "ownerReferences", "finalizers"} {
		if desired == nil || desired[name] != nil || lastApplied[name] == nil {
			continue
		}
		switch observed[name].(type) {
		case map[string]any:
			desired[name] = map[string]any{}
		case []any:
			desired[name] = []any{}
		}
	}
}

// foldStringData does to a Secret what the host does: stringData, which is never read
// back, is written into data.
func foldStringData(secret map[string]any) {
	texts, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := secret["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range texts {
		text, ok := value.(string)
		if !ok {
			return // the host says what is wrong with it
		}
		data[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(secret, "stringData")
	secret["data"] = data
}
