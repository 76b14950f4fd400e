// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"maps"
	"slices"
)

// normalize turns what was last applied and what is desired into what they mean to the host, before
// they are merged. It changes both arguments.
func (p *parent) normalize(observed, lastApplied, desired map[string]any) (last, want map[string]any) {
	have, _ := observed["metadata"].(map[string]any)
	last, _ = lastApplied["metadata"].(map[string]any)
	want, _ = desired["metadata"].(map[string]any)
	p.keepOwner(last)
	keepFieldsOfOthers(have, last, want)
	if want["ownerReferences"] != nil {
		p.own(desired)
	}
	if isSecret(desired) {
		foldStringData(lastApplied)
		foldStringData(desired)
	}
	return lastApplied, desired
}

// keepOwner removes the parent from the owners that were last applied. Without it, a hook that no
// longer lists the parent among a child's owners would end the parent's control of the child.
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

// keepFieldsOfOthers adds empty labels, annotations, owners or finalizers to desired if the hook
// listed some earlier and now leaves out the field. Then merging removes only what was applied.
// Otherwise merging would remove the whole field, as Metacontroller does, with the entries of others.
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

// foldStringData writes stringData of a Secret into data, as the host does. The host never returns
// stringData.
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
