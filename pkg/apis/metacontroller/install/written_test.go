// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A value that is dropped on write differs from Git forever, also an empty one.
func TestWhateverIsWrittenIsStored(t *testing.T) {
	codec := newCodec(t)
	for _, kind := range []any{v1alpha1.CompositeController{}, v1alpha1.DecoratorController{},
		v1alpha1.ControllerRevision{}} {
		of := reflect.TypeOf(kind)
		t.Run(of.Name(), func(t *testing.T) {
			// At first, all fields are there, so that each is seen with each of its values.
			for i := range 400 {
				w := writer{Rand: rand.New(rand.NewPCG(uint64(i), 0)), absent: float64(i/200) / 3}
				written := w.value(of).(map[string]any)
				written["apiVersion"], written["kind"] = v1alpha1.SchemeGroupVersion.String(), of.Name()
				written["metadata"] = map[string]any{"name": "a"}
				sent, err := json.Marshal(written)
				if err != nil {
					t.Fatal(err)
				}
				object, err := runtime.Decode(codec, sent)
				if err != nil {
					t.Fatalf("decoding %s: %v", sent, err)
				}
				stored, err := runtime.Encode(codec, object)
				if err != nil {
					t.Fatal(err)
				}
				for _, difference := range differences(toMap(t, sent), toMap(t, stored), "") {
					t.Errorf("%s in %s", difference, sent)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// A writer writes objects with any values, as JSON.
type writer struct {
	*rand.Rand
	// absent is how often an optional field is absent.
	absent float64
}

func (w writer) value(of reflect.Type) any {
	switch of {
	case reflect.TypeFor[intstr.IntOrString]():
		return w.oneOf(0, 1, "", "25%")
	case reflect.TypeFor[v1alpha1.JSONValue]():
		return w.oneOf("", "a", 7, true, []any{nil, "b"}, map[string]any{"a": nil})
	case reflect.TypeFor[runtime.RawExtension]():
		return w.oneOf(map[string]any{}, map[string]any{"a": []any{nil, "", map[string]any{}}})
	}
	switch of.Kind() {
	case reflect.Pointer:
		return w.value(of.Elem())
	case reflect.String:
		return w.oneOf("", "a")
	case reflect.Bool:
		return w.oneOf(false, true)
	case reflect.Int32:
		return w.oneOf(0, 7)
	case reflect.Slice:
		list := make([]any, w.IntN(3))
		for i := range list {
			list[i] = w.value(of.Elem())
		}
		return list
	case reflect.Map:
		return w.oneOf(map[string]any{}, map[string]any{"a": ""})
	case reflect.Struct:
		fields := map[string]any{}
		for field := range of.Fields() {
			w.field(field, fields)
		}
		return fields
	default:
		panic(fmt.Sprintf("the test cannot write a %s", of))
	}
}

func (w writer) field(field reflect.StructField, to map[string]any) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name == "metadata", name == "status", field.Name == "TypeMeta":
	case name == "":
		for name, value := range w.value(field.Type).(map[string]any) {
			to[name] = value
		}
	case !strings.Contains(options, "omit") || w.Float64() >= w.absent:
		to[name] = w.value(field.Type)
	}
}

func (w writer) oneOf(values ...any) any { return values[w.IntN(len(values))] }

// defaults are the fields that are written if they are absent.
var defaults = []string{"version", "key", "certKey", "privateKeyKey", "type", "usernameKey", "passwordKey"}

// differences returns where what was stored is not what was sent with defaults.
func differences(sent, stored any, path string) (all []string) {
	switch sent := sent.(type) {
	case map[string]any:
		stored, _ := stored.(map[string]any)
		for name, value := range sent {
			if _, found := stored[name]; !found {
				all = append(all, path+"."+name+" is dropped")
				continue
			}
			all = append(all, differences(value, stored[name], path+"."+name)...)
		}
		for name := range stored {
			if _, found := sent[name]; !found && !slices.Contains(defaults, name) {
				all = append(all, path+"."+name+" is added")
			}
		}
	case []any:
		stored, _ := stored.([]any)
		if len(stored) != len(sent) {
			return []string{path + " has another length"}
		}
		for i, item := range sent {
			all = append(all, differences(item, stored[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		if stored != sent {
			all = append(all, fmt.Sprintf("%s is %v instead of %v", path, stored, sent))
		}
	}
	return all
}
