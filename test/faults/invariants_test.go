// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// foreign is a Item in the namespace of each run that is nobody's child.
const foreign = "foreign"

// user is the user that steps are taken as, at the host.
const user = "admin"

// kinds are the kinds of children, by resource.
var kinds = map[string]string{"items": "Item", "parts": "Part"}

// checkInvariants fails the test for each moment at which something was wrong although it came right
// in the end. It reads the host's audit log: not what the process says, but what the host did.
func (r *run) checkInvariants(reference *reference) {
	r.Helper()
	events, err := env.Host.Audit().Find(r.from, hostcluster.Request{Namespace: r.Namespace, Verbs: hostcluster.Writes()})
	if err != nil {
		r.Fatal(err)
	}
	isThere := map[string]bool{}
	deleted := map[string]int{} // by step and child
	for _, event := range events {
		if event.ObjectRef == nil || kinds[event.ObjectRef.Resource] == "" || strings.Contains(event.RequestURI, "dryRun=") {
			continue
		}
		child := kinds[event.ObjectRef.Resource] + " " + event.ObjectRef.Name
		if event.User.Username == harness.ServerUser && event.ObjectRef.Name == foreign {
			r.Errorf("a foreign object was written: %s", lineOf(&event))
		}
		switch {
		case hostcluster.Refused(event):
		case event.Verb == "delete":
			isThere[child] = false
			step := r.stepAt(&event)
			if event.User.Username == user || step < 0 || !reference.states[step].names()[child] {
				break
			}
			at := fmt.Sprint(step, child)
			if deleted[at]++; deleted[at] > r.scenario.steps[step].recreates {
				r.Errorf("in step %d (%s) the hook always wanted what was deleted: %s", step+1, r.scenario.steps[step].name, lineOf(&event))
			}
		case event.ResponseStatus.Code == 201 && event.ObjectRef.Subresource == "":
			if isThere[child] {
				r.Errorf("created twice: %s", lineOf(&event))
			}
			isThere[child] = true
		}
	}
	if r.kubelet != nil {
		r.kubelet.mu.Lock()
		defer r.kubelet.mu.Unlock()
		for _, violation := range r.kubelet.violations {
			r.Errorf("more than maxUnavailable: %s", violation)
		}
	}
}

// stepAt returns the step in which a request was answered, -1 if that was before the first.
func (r *run) stepAt(event *auditv1.Event) int {
	step := -1
	for i, began := range r.began {
		if event.StageTimestamp.After(began) {
			step = i
		}
	}
	return step
}

func lineOf(event *auditv1.Event) string {
	return fmt.Sprintf("%s %s by %s at %s", event.Verb, event.RequestURI, event.User.Username, event.StageTimestamp.Local().Format(clock))
}
