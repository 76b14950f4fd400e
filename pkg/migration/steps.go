// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// answerTimeout bounds the time for which a step waits for an answer that it can do without.
const answerTimeout = 10 * time.Second

// Switch moves all objects to the server, and starts its controllers. If it fails, it undoes its changes.
func (m *Migration) Switch(ctx context.Context) (err error) {
	defer func() { err = m.withRefused(ctx, err) }()
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.side == inServer && !now.isInterrupted():
		m.say("the server has the objects already")
		return m.workloads.sayBeside(ctx, now)
	case now.side == inServer:
		return m.serveFromServer(ctx)
	}
	if now.leadsHere { // the objects can be read only in the copyVersion
		if err := m.definitions.open(ctx, false); err != nil {
			return err
		}
	}
	if err := m.check(ctx, now, true); err != nil {
		return err
	}
	if err := m.workloads.stop(ctx); err != nil {
		return err
	}
	if err := m.moveToServer(ctx); err != nil {
		return m.undo(ctx, err, func(ctx context.Context) error {
			if now.leadsHere && !now.isInterrupted() { // as before; otherwise an earlier switch was interrupted
				return errors.Join(m.freezer.thaw(ctx), m.workloads.start(ctx))
			}
			return m.serveFromDefinitions(ctx, m.copier.cleanCopies)
		})
	}
	return m.serveFromServer(ctx)
}

// withRefused adds to the error of a step that the policy still refuses writes.
func (m *Migration) withRefused(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	if policy, unknown := m.freezer.get(ctx); policy == nil && unknown == nil {
		return err
	}
	return fmt.Errorf("%w\nthe cluster rejects writes to the API until a step completes: run 'metacontroller-apiserver "+
		"migrate switch' or 'back'", err)
}

// undo runs the opposite step after an error, unless the user has interrupted this step.
func (m *Migration) undo(ctx context.Context, cause error, opposite func(context.Context) error) error {
	if ctx.Err() != nil {
		return cause
	}
	m.say("undoing it, because: %s", cause)
	return errors.Join(cause, opposite(ctx))
}

// moveToServer copies the objects to the server, and makes the server authoritative.
func (m *Migration) moveToServer(ctx context.Context) error {
	if err := m.freezer.freeze(ctx, inDefinitions); err != nil {
		return err
	}
	if err := m.definitions.open(ctx, false); err != nil {
		return err
	}
	if err := m.registrar.leadHere(ctx); err != nil {
		return err
	}
	if err := m.freezer.untilFrozen(ctx); err != nil {
		return err
	}
	m.say("the APIService %s refers to the Service %s, and holds its controllers", apiServiceName, m.config.Service)
	if err := m.copier.copy(ctx, inDefinitions, inServer); err != nil {
		return err
	}
	if err := m.preview(ctx); err != nil {
		return err
	}
	return m.freezer.setCounts(ctx, inServer)
}

// serveFromServer completes Switch: the server serves its objects, and its controllers run.
func (m *Migration) serveFromServer(ctx context.Context) error {
	// Clients that watch the definitions list again, at the server.
	err := m.definitions.change(ctx, func(of definition) bool { return of.serve(servedVersion, false) })
	if err != nil {
		return err
	}
	if err := m.registrar.setHold(ctx, false); err != nil {
		return err
	}
	if err := m.freezer.thaw(ctx); err != nil {
		return err
	}
	err = m.untilAll(ctx, "all controllers to start",
		func(reason any) bool { return reason != v1alpha1.ReasonHeld })
	if err != nil {
		return err
	}
	m.say("the controllers of the server run: see kubectl get cc,dec")
	return nil
}

// Back moves all objects to the definitions, and starts Metacontroller. It creates missing definitions. If it fails, it
// undoes its changes.
func (m *Migration) Back(ctx context.Context) (err error) {
	defer func() { err = m.withRefused(ctx, err) }()
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.side == nowhere:
		is, _ := now.describe()
		return errors.New(is)
	case now.isOriginal():
		m.say("the CustomResourceDefinitions have the objects already")
		return m.workloads.start(ctx)
	case now.side == inDefinitions:
		return m.serveFromDefinitions(ctx, m.copier.cleanAll)
	}
	if err := m.findBack(ctx, now); err != nil {
		return err
	}
	if err := m.workloads.stop(ctx); err != nil {
		return err
	}
	if err := m.moveToDefinitions(ctx); err != nil {
		return m.undo(ctx, err, m.serveFromServer)
	}
	return m.serveFromDefinitions(ctx, m.copier.cleanAll)
}

// moveToDefinitions copies the objects to the definitions, and makes these authoritative.
func (m *Migration) moveToDefinitions(ctx context.Context) error {
	if err := m.freezer.freeze(ctx, inServer); err != nil {
		return err
	}
	if err := m.definitions.open(ctx, true); err != nil {
		return err
	}
	if err := m.until(ctx, "the deletion of objects with finalizers", m.nothingIsDeleted); err != nil {
		return err
	}
	if err := m.registrar.setHold(ctx, true); err != nil {
		return err
	}
	err := m.untilAll(ctx, "all controllers of the server to stop", func(reason any) bool {
		return reason == v1alpha1.ReasonHeld || reason == v1alpha1.ReasonNotSelected
	})
	if err != nil {
		return err
	}
	m.say("the controllers of the server are stopped")
	if err := m.copier.copy(ctx, inServer, inDefinitions); err != nil {
		return err
	}
	return m.freezer.setCounts(ctx, inDefinitions)
}

// nothingIsDeleted returns an error if an object of the server waits for its finalizers.
func (m *Migration) nothingIsDeleted(ctx context.Context) error {
	all, err := m.copier.read(ctx, servedVersion, kinds()...)
	for name, of := range all {
		if of.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is being deleted, and has the finalizers %v", name, of.GetFinalizers())
		}
	}
	return err
}

// serveFromDefinitions completes Back: the definitions serve their objects, and Metacontroller runs. clean removes the
// objects of the server. If the server does not answer, they stay.
func (m *Migration) serveFromDefinitions(ctx context.Context, clean func(context.Context) error) error {
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	answers := now.leadsHere && m.answers(ctx)
	switch {
	case answers:
		if err := m.freezer.freeze(ctx, inDefinitions); err != nil {
			return err
		}
		err := m.definitions.open(ctx, false)
		if err == nil { // the policy now says that they are authoritative
			err = m.serveDefinitions(ctx)
		}
		if err == nil {
			err = clean(ctx)
		}
		if err != nil {
			if !now.isInterrupted() {
				err = errors.Join(err, m.freezer.thaw(ctx))
			}
			return err
		}
	case now.leadsHere:
		m.say("the server does not answer. If its storage has copies of the objects, remove them: otherwise they reappear " +
			"when the server serves the API again")
	}
	if err := m.serveDefinitions(ctx); err != nil {
		return err
	}
	if err := m.registrar.leadBack(ctx, now.service); err != nil {
		return err
	}
	if err := m.definitions.change(ctx, definition.restore); err != nil {
		return err
	}
	m.say("the CustomResourceDefinitions serve the API")
	return errors.Join(m.freezer.thaw(ctx), m.workloads.start(ctx))
}

func (m *Migration) serveDefinitions(ctx context.Context) error {
	return m.definitions.change(ctx, func(of definition) bool { return of.serve(servedVersion, true) })
}

// answers reports whether the server serves the API within some seconds.
func (m *Migration) answers(ctx context.Context) bool {
	return wait.PollUntilContextTimeout(ctx, pollInterval, answerTimeout, true, func(ctx context.Context) (bool, error) {
		return m.registrar.servedHere(ctx) == nil, nil
	}) == nil
}

// Finish deletes the definitions with the copies in them.
func (m *Migration) Finish(ctx context.Context) error {
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	if now.side != inServer || now.isInterrupted() {
		is, next := now.describe()
		return fmt.Errorf("the objects have not been moved to the server. %s Next: %s", is, next)
	}
	if err := m.workloads.stop(ctx); err != nil {
		return err
	}
	if err := m.definitions.open(ctx, false); err != nil {
		return err
	}
	all, err := m.copier.read(ctx, copyVersion, kinds()...)
	if err != nil {
		return err
	}
	for _, of := range all {
		if len(of.GetFinalizers()) == 0 {
			continue
		}
		if err := m.copier.remove(ctx, of, inDefinitions); err != nil {
			return err
		}
	}
	for _, kind := range kinds() {
		of, exists := now.definitions[kind.resource]
		if !exists {
			continue
		}
		uid := types.UID(of.GetUID())
		err := m.dynamic.Resource(definitions()).Delete(ctx, kind.definition(),
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil {
			return fmt.Errorf("delete the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
		if err := m.definitions.untilDeleted(ctx, kind); err != nil {
			return err
		}
		m.say("deleted the CustomResourceDefinition %s", kind.definition())
	}
	m.say("the migration is finished")
	return nil
}

// untilAll waits until the reason of the condition Ready fits, for all controllers that a server has read.
func (m *Migration) untilAll(ctx context.Context, what string, fits func(reason any) bool) error {
	return m.until(ctx, what, func(ctx context.Context) error {
		all, err := m.copier.controllers(ctx)
		for name, of := range all {
			if reason, message := readyOf(of.Unstructured); reason != "" && reason != v1alpha1.ReasonNotObservedYet &&
				!fits(reason) {
				return fmt.Errorf("%s: its condition Ready has the reason %s: %s", name, reason, message)
			}
		}
		return err
	})
}

// readyOf returns the reason and the message of the condition Ready of a controller, or empty texts.
func readyOf(of *unstructured.Unstructured) (reason, message any) {
	conditions, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == v1alpha1.ConditionReady {
			return condition["reason"], condition["message"]
		}
	}
	return "", ""
}
