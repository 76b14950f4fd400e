// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

func (l *Log) nameOf(of *call, number uint64) types.NamespacedName {
	name := types.NamespacedName{Namespace: of.parent.Namespace, Name: l.names.of(number, of.began)}
	if name.Namespace == "" {
		name.Namespace = of.owner.Namespace
	}
	return name
}

func (c *Controller) nameOf(of *call) types.NamespacedName { return c.log.nameOf(of, of.number) }

// rows returns all calls without their bodies.
func (c *Controller) rows() (rows []*v1alpha1.HookCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.each(func(of *call, _ *ring) bool {
		rows = append(rows, c.describe(of))
		return true
	})
	return rows
}

// row returns a call without its bodies; nil if it was dropped.
func (c *Controller) row(number uint64) (row *v1alpha1.HookCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.each(func(of *call, _ *ring) bool {
		if of.number == number {
			row = c.describe(of)
		}
		return row == nil
	})
	return row
}

// each calls do with each call until do returns false.
func (c *Controller) each(do func(*call, *ring) bool) {
	for _, of := range []*ring{&c.succeeded, &c.failed} {
		for i := range of.number {
			if !do(of.at(i), of) {
				return
			}
		}
	}
}

// get returns a call with its bodies, and the permissions that a user needs to see it. It returns nil if the call
// does not exist.
func (c *Controller) get(name types.NamespacedName) (found *v1alpha1.HookCall, required []rights.Required) {
	c.mu.Lock()
	var one call
	var request, answer []byte
	c.each(func(of *call, in *ring) bool {
		if c.nameOf(of) != name {
			return true
		}
		found, one = c.describe(of), *of
		required = c.required(of)
		both := bytes.Clone(in.read(of.span))
		request, answer = both[:of.request.kept], both[of.request.kept:]
		return false
	})
	c.mu.Unlock()
	if found == nil {
		return nil, nil
	}
	redactor := &redact.Redactor{
		Credentials: one.credentials, Request: request, Answer: answer, Controller: one.controllerJSON,
	}
	show(found.Status.Request, request, one.isWithheld, redactor)
	if one.answered {
		show(found.Status.Response, answer, one.isWithheld, redactor)
	}
	return found, required
}

// show adds the kept part of a body.
func show(to *v1alpha1.HookCallBody, kept []byte, isWithheld bool, redactor *redact.Redactor) {
	switch {
	case isWithheld:
		to.Omitted = "the call is too large to keep in full, and the server could not find the secrets in a part of it"
	case int64(len(kept)) < to.Bytes:
		to.Text = strings.ToValidUTF8(redactor.Beginning(kept), "")
		to.Omitted = fmt.Sprintf("only the first %d bytes are kept", len(kept))
	default:
		shown := strings.ToValidUTF8(redactor.Body(kept), "�")
		if redact.IsObject([]byte(shown)) {
			to.Object = &runtime.RawExtension{Raw: []byte(shown)}
		} else {
			to.Text = shown
		}
	}
}

// describe returns a call without its bodies.
func (c *Controller) describe(of *call) *v1alpha1.HookCall {
	name := c.nameOf(of)
	row := &v1alpha1.HookCall{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Labels: of.owner.Labels, CreationTimestamp: metav1.NewTime(of.began),
			UID: types.UID(uuid.NewSHA1(uuid.Nil, []byte(string(of.owner.UID)+"/"+name.Name)).String()),
		},
		Spec: v1alpha1.HookCallSpec{Controller: c.of, Parent: of.parent, Hook: of.hook, URL: of.url, Revision: of.revision},
		Status: v1alpha1.HookCallStatus{
			StartTime: metav1.NewMicroTime(of.began), Duration: metav1.Duration{Duration: of.took}, Code: int32(of.code),
			Result: of.result, Message: of.message, Request: &v1alpha1.HookCallBody{Bytes: int64(of.request.bytes)},
		},
	}
	if of.result == v1alpha1.HookCallFailed {
		row.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: string(of.result), Message: of.message,
			LastTransitionTime: metav1.NewTime(of.began.Add(of.took)),
		}}
	}
	if of.answered {
		row.Status.Response = &v1alpha1.HookCallBody{Bytes: int64(of.answer.bytes)}
	}
	return row
}

// required returns the rights to get the objects that the bodies of a call show. It assumes that the objects in a
// response are in the same namespaces as the children in the request.
func (c *Controller) required(of *call) []rights.Required {
	get := func(resource rights.Object, what string) rights.Required {
		return rights.Required{Right: rights.Right{Object: resource, Verb: "get"}, For: what}
	}
	controllers := v1alpha1.Resource(strings.ToLower(c.of.Kind) + "s")
	parent := rights.Object{
		GroupResource: of.parentType.GroupResource(), Namespace: of.parent.Namespace, Name: of.parent.Name,
	}
	required := []rights.Required{
		get(rights.Object{GroupResource: controllers, Name: c.of.Name}, "its controller"),
		get(parent, "its parent"),
	}
	if of.revision != "" {
		revisions := rights.Object{GroupResource: v1alpha1.Resource("controllerrevisions"), Namespace: c.nameOf(of).Namespace}
		required = append(required, get(revisions, "its parent as of an earlier revision"))
	}
	if of.hook == customizeHook {
		return required
	}
	for _, child := range of.owner.Children {
		required = append(required, get(inNamespace(child, of.parent.Namespace), "its children"))
	}
	for _, related := range of.related {
		required = append(required, get(inNamespace(related.of, related.namespace), "its related objects"))
	}
	return required
}

// customizeHook is the name of the hook whose requests have no children.
const customizeHook = "customize"

func inNamespace(of object.Type, namespace string) rights.Object {
	if !of.Namespaced {
		namespace = ""
	}
	return rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}
}
