// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json" // integers stay integers
)

// merge returns the object of the source with what was changed here since it was imported. Where both sides have changed a field, the one
// that is here counts: it was written later, for the other server takes no writes once they come here. base is the object as it
// was imported.
func (r *REST) merge(from *source, stored runtime.Object, base []byte) (runtime.Object, error) {
	here, err := r.content(stored)
	if err != nil {
		return nil, err
	}
	there, err := r.content(from.object)
	if err != nil {
		return nil, err
	}
	changes, err := jsonpatch.CreateMergePatch(base, here)
	if err != nil {
		return nil, fmt.Errorf("find what was changed here: %w", err)
	}
	encoded, err := jsonpatch.MergePatch(there, changes)
	if err != nil {
		return nil, fmt.Errorf("change what is there: %w", err)
	}
	if encoded, err = withGeneration(encoded, here, there); err != nil {
		return nil, err
	}
	merged, err := runtime.Decode(r.codec, encoded)
	if err != nil {
		return nil, err
	}
	if errs, _ := from.Check(merged); len(errs) > 0 {
		return nil, fmt.Errorf("what was changed here and there does not go together: %w", errs.ToAggregate())
	}
	from.KeepStatus(merged, stored)
	of, err := meta.Accessor(merged)
	if err != nil {
		return nil, err
	}
	is, err := meta.Accessor(stored)
	if err != nil {
		return nil, err
	}
	of.SetManagedFields(is.GetManagedFields())
	return merged, nil
}

// content returns what of an object is imported: everything but the status, the resourceVersion and the managedFields.
func (r *REST) content(object runtime.Object) ([]byte, error) {
	encoded, err := runtime.Encode(r.codec, object)
	if err != nil {
		return nil, err
	}
	return contentOf(encoded)
}

// withGeneration gives a merged object the generation of the later side, and the next one if its spec is that of neither.
func withGeneration(merged, here, there []byte) ([]byte, error) {
	var all [3]unstructured.Unstructured
	for i, encoded := range [][]byte{merged, here, there} {
		if err := json.Unmarshal(encoded, &all[i].Object); err != nil {
			return nil, err
		}
	}
	generation := max(all[1].GetGeneration(), all[2].GetGeneration())
	spec := func(i int) any { return all[i].Object["spec"] }
	if !reflect.DeepEqual(spec(0), spec(1)) && !reflect.DeepEqual(spec(0), spec(2)) {
		generation++
	}
	all[0].SetGeneration(generation)
	return json.Marshal(all[0].Object)
}
