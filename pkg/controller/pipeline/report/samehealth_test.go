// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"reflect"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Each field of Health makes another status.
func TestAnyOtherHealthIsAnother(t *testing.T) {
	failure, warning := &ParentError{Message: "no"}, &ParentWarning{Parent: shop, Warning: pipeline.Warning{Message: "hm"}}
	for name, change := range map[string]func(*Health){
		"Uncounted":        func(h *Health) { h.Uncounted = true },
		"Total":            func(h *Health) { h.Total++ },
		"Synced":           func(h *Health) { h.Synced++ },
		"Failing":          func(h *Health) { h.Failing++ },
		"HookCalled":       func(h *Health) { h.HookCalled = true },
		"HookErr":          func(h *Health) { h.HookErr = errors.New("other") },
		"StaleCredentials": func(h *Health) { h.StaleCredentials = nil },
		"LastError":        func(h *Health) { h.LastError = &ParentError{Message: "no"} },
		"Failure":          func(h *Health) { h.Failure = nil },
		"Warned":           func(h *Health) { h.Warned++ },
		"FieldWarning":     func(h *Health) { h.FieldWarning = &ParentWarning{Parent: shop, More: 1, Warning: warning.Warning} },
		"ChildWarning":     func(h *Health) { h.ChildWarning = &ParentWarning{Parent: shop} },
		"Outdated":         func(h *Health) { h.Outdated++ },
		"Paused":           func(h *Health) { h.Paused++ },
		"PausedParent":     func(h *Health) { h.PausedParent = shop },
		"AllPaused":        func(h *Health) { h.AllPaused = true },
		"WholeErrors":      func(h *Health) { h.WholeErrors = true },
		"WriteLoops":       func(h *Health) { h.WriteLoops = []pipeline.WriteLoop{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			if _, is := reflect.TypeFor[Health]().FieldByName(name); !is {
				t.Errorf("there is no field %s", name)
			}
			a := &Health{HookErr: errors.New("no"), StaleCredentials: errors.New("no"), LastError: failure, Failure: failure, FieldWarning: warning}
			b := *a
			again := *warning
			b.FieldWarning, b.HookErr = &again, errors.New("no")
			if !SameHealth(a, &b) {
				t.Error("the same is not the same")
			}
			change(&b)
			if SameHealth(a, &b) || SameHealth(&b, a) || SameHealth(nil, &b) || SameHealth(&b, nil) {
				t.Error("it makes the same status")
			}
		})
	}
	if fields := reflect.TypeFor[Health]().NumField(); fields != 18 {
		t.Errorf("there are %d fields: SameHealth and this test must know all", fields)
	}
	if !SameHealth(nil, nil) {
		t.Error("none is not the same as none")
	}
}
