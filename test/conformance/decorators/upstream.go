// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorators

import (
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// syncWebhook attaches a custom object to a custom object.
func syncWebhook(version string) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Thing"})
		s.Define(harness.CRD{Kind: "Child"})
		s.Say("$RESOURCE", things)
		s.Say("$ATTACHMENTS", "[{apiVersion: $Child, resource: childs}]")
		run(s, version, answers{"/sync": func(asked object) object {
			return object{"attachments": list{object{
				"apiVersion": s.Text("$Child"), "kind": "Child",
				"metadata": object{"name": scenario.At(asked, "object", "metadata", "name"), "labels": object{"test": s.Unique}},
			}}}
		}})
		target := s.Create(thing)
		attached := s.Exists(ref{APIVersion: "$Child", Kind: "Child", Namespace: "$NAMESPACE", Name: "a"}, scenario.Has("metadata.labels.test", s.Unique))
		if owner := metav1.GetControllerOf(attached); owner == nil || owner.UID != target.GetUID() || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
			s.Errorf("the attachment is controlled by %v", owner)
		}
		if of := attached.GetAnnotations()["metacontroller.k8s.io/decorator-controller"]; of != s.Unique {
			s.Errorf("the attachment is said to be of %q", of)
		}
	}
}

// resyncAfter checks that a sync which the hook requested comes in time. On a busy machine it may
// be late, so the hook repeats the request until one is in time. With --cache-flush-interval=1s
// another sync may come before it, but not earlier than it was requested.
func resyncAfter(s *scenario.Scenario) {
	var mu sync.Mutex
	var asked time.Time
	var elapsed float64
	inPlace(s, func(request object) object {
		mu.Lock()
		defer mu.Unlock()
		if scenario.At(request, "object", "status") == nil {
			return object{"status": object{}}
		}
		if took := time.Since(asked); elapsed == 0 && !asked.IsZero() && took <= time.Second {
			elapsed = took.Seconds()
		}
		if elapsed > 0 {
			return object{"status": object{"elapsedSeconds": elapsed}}
		}
		asked = time.Now()
		return object{"resyncAfterSeconds": 0.1}
	})
	s.Create(thing)
	s.Exists(theThing, func(target *unstructured.Unstructured) error {
		if _, found, err := unstructured.NestedFloat64(target.Object, "status", "elapsedSeconds"); !found || err != nil {
			return fmt.Errorf("no sync that was asked for after 0.1 s came within a second, the status is %v: %w", target.Object["status"], err)
		}
		return nil
	})
}

const secret = `
apiVersion: v1
kind: Secret
metadata: {name: $NAME, namespace: $NAMESPACE}
`

// customizeWebhook names an attachment after a related object.
func customizeWebhook(version string) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		s.Define(harness.CRD{Kind: "Thing"})
		s.Say("$RESOURCE", things)
		s.Say("$ATTACHMENTS", "[{apiVersion: v1, resource: configmaps}]")
		key := s.Unique
		if version == "v2" {
			key = s.Namespace + "/" + s.Unique
		}
		run(s, version, answers{
			"/customize": func(asked object) object {
				return object{"relatedResources": list{object{
					"apiVersion": "v1", "resource": "secrets", "namespace": scenario.At(asked, "parent", "metadata", "namespace"), "names": list{s.Unique},
				}}}
			},
			"/sync": func(asked object) object {
				name, there := scenario.At(asked, "related", "Secret.v1", key, "metadata", "name").(string)
				if !there {
					return object{}
				}
				return object{"attachments": list{hook.ConfigMap("a-"+name, object{})}}
			},
		})
		s.Create(secret + "\n---\n" + thing)
		s.Exists(scenario.ConfigMap("a-$NAME"))
	}
}
