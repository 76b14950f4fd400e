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

// answerTimeout is how long a step waits for what it can do without.
const answerTimeout = 10 * time.Second

// Switch moves all objects to the server, and lets its controllers run. What fails is undone.
func (m *Migration) Switch(ctx context.Context) (err error) {
	defer func() { err = m.withRefused(ctx, err) }()
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.side == inServer && !now.isInterrupted():
		m.say("the server has the objects already")
		return m.sayBeside(ctx, now)
	case now.side == inServer:
		return m.serveFromServer(ctx)
	}
	if now.leadsHere { // their objects are readable by the copyVersion only
		if err := m.openDefinitions(ctx, false); err != nil {
			return err
		}
	}
	if err := m.check(ctx, now, true); err != nil {
		return err
	}
	if err := m.stopOriginal(ctx); err != nil {
		return err
	}
	if err := m.moveToServer(ctx); err != nil {
		return m.undo(ctx, err, func(ctx context.Context) error {
			if now.leadsHere && !now.isInterrupted() { // as before; otherwise an earlier switch was interrupted
				return errors.Join(m.thaw(ctx), m.startOriginal(ctx))
			}
			return m.serveFromDefinitions(ctx, (*Migration).cleanCopies)
		})
	}
	return m.serveFromServer(ctx)
}

// withRefused adds to the error of a step that writes are still refused.
func (m *Migration) withRefused(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	if policy, unknown := m.getPolicy(ctx); policy == nil && unknown == nil {
		return err
	}
	return fmt.Errorf("%w\nwrites to the API are refused until a step ends: do 'metacontroller-apiserver migrate switch' "+
		"or 'back'", err)
}

// undo completes the opposite step after an error, unless the user has interrupted this one.
func (m *Migration) undo(ctx context.Context, cause error, opposite func(context.Context) error) error {
	if ctx.Err() != nil {
		return cause
	}
	m.say("undoing it, because: %s", cause)
	return errors.Join(cause, opposite(ctx))
}

// moveToServer is everything up to the moment from which the objects of the server count.
func (m *Migration) moveToServer(ctx context.Context) error {
	if err := m.freeze(ctx, inDefinitions); err != nil {
		return err
	}
	if err := m.openDefinitions(ctx, false); err != nil {
		return err
	}
	if err := m.leadHere(ctx); err != nil {
		return err
	}
	if err := m.untilFrozen(ctx); err != nil {
		return err
	}
	m.say("the APIService %s leads to the Service %s, and holds its controllers", apiServiceName, m.config.Service)
	if err := m.copy(ctx, inDefinitions, inServer); err != nil {
		return err
	}
	if err := m.preview(ctx); err != nil {
		return err
	}
	return m.setCounts(ctx, inServer)
}

// serveFromServer lets the server and its controllers serve the objects that it has.
func (m *Migration) serveFromServer(ctx context.Context) error {
	// What watches the definitions lists again, at the server.
	err := m.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, false) })
	if err != nil {
		return err
	}
	if err := m.setHold(ctx, false); err != nil {
		return err
	}
	if err := m.thaw(ctx); err != nil {
		return err
	}
	err = m.untilAll(ctx, "the start of all controllers",
		func(reason any) bool { return reason != v1alpha1.ReasonHeld })
	if err != nil {
		return err
	}
	m.say("the controllers of the server run: see kubectl get cc,dec")
	return nil
}

// Back moves all objects to the definitions, which are created if they are gone, and starts Metacontroller. What
// fails is undone.
func (m *Migration) Back(ctx context.Context) (err error) {
	defer func() { err = m.withRefused(ctx, err) }()
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	switch {
	case now.side == nowhere:
		is, _ := now.describe()
		return errors.New(is)
	case now.isOriginal():
		m.say("the CustomResourceDefinitions have the objects already")
		return m.startOriginal(ctx)
	case now.side == inDefinitions:
		return m.serveFromDefinitions(ctx, (*Migration).cleanAll)
	}
	if err := m.findBack(ctx, now); err != nil {
		return err
	}
	if err := m.stopOriginal(ctx); err != nil {
		return err
	}
	if err := m.moveToDefinitions(ctx); err != nil {
		return m.undo(ctx, err, m.serveFromServer)
	}
	return m.serveFromDefinitions(ctx, (*Migration).cleanAll)
}

// moveToDefinitions is everything up to the moment from which the objects of the definitions count.
func (m *Migration) moveToDefinitions(ctx context.Context) error {
	if err := m.freeze(ctx, inServer); err != nil {
		return err
	}
	if err := m.openDefinitions(ctx, true); err != nil {
		return err
	}
	if err := m.until(ctx, "the end of what is being deleted", m.nothingIsDeleted); err != nil {
		return err
	}
	if err := m.setHold(ctx, true); err != nil {
		return err
	}
	err := m.untilAll(ctx, "the stop of all controllers of the server", func(reason any) bool {
		return reason == v1alpha1.ReasonHeld || reason == v1alpha1.ReasonNotSelected
	})
	if err != nil {
		return err
	}
	m.say("the controllers of the server stand still")
	if err := m.copy(ctx, inServer, inDefinitions); err != nil {
		return err
	}
	return m.setCounts(ctx, inDefinitions)
}

// nothingIsDeleted returns nil unless an object of the server waits for its finalizers.
func (m *Migration) nothingIsDeleted(ctx context.Context) error {
	all, err := m.read(ctx, servedVersion, kinds()...)
	for name, of := range all {
		if of.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is being deleted, and has the finalizers %v", name, of.GetFinalizers())
		}
	}
	return err
}

// serveFromDefinitions has the definitions serve the objects that they have. It works without the server, too. clean
// removes what the server has.
func (m *Migration) serveFromDefinitions(ctx context.Context, clean func(*Migration, context.Context) error) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	answers := now.leadsHere && m.answers(ctx)
	switch {
	case answers:
		if err := m.freeze(ctx, inDefinitions); err != nil {
			return err
		}
		err := m.openDefinitions(ctx, false)
		if err == nil { // which also says that they count
			err = m.serveDefinitions(ctx)
		}
		if err == nil {
			err = clean(m, ctx)
		}
		if err != nil {
			if !now.isInterrupted() {
				err = errors.Join(err, m.thaw(ctx))
			}
			return err
		}
	case now.leadsHere:
		m.say("the server does not answer. If its storage has copies of the objects, remove them: they would come alive " +
			"another time")
	}
	if err := m.serveDefinitions(ctx); err != nil {
		return err
	}
	if err := m.leadBack(ctx, now.service); err != nil {
		return err
	}
	if err := m.changeDefinitions(ctx, definition.restore); err != nil {
		return err
	}
	m.say("the CustomResourceDefinitions serve the API")
	return errors.Join(m.thaw(ctx), m.startOriginal(ctx))
}

func (m *Migration) serveDefinitions(ctx context.Context) error {
	return m.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, true) })
}

// answers reports whether the server serves the API within some seconds.
func (m *Migration) answers(ctx context.Context) bool {
	return wait.PollUntilContextTimeout(ctx, pollInterval, answerTimeout, true, func(ctx context.Context) (bool, error) {
		return m.servedHere(ctx) == nil, nil
	}) == nil
}

// Finish removes the definitions with the copies in them.
func (m *Migration) Finish(ctx context.Context) error {
	now, err := m.situation(ctx)
	if err != nil {
		return err
	}
	if now.side != inServer || now.isInterrupted() {
		is, next := now.describe()
		return fmt.Errorf("the objects have not been moved to the server. %s Next: %s", is, next)
	}
	if err := m.stopOriginal(ctx); err != nil {
		return err
	}
	if err := m.openDefinitions(ctx, false); err != nil {
		return err
	}
	all, err := m.read(ctx, copyVersion, kinds()...)
	if err != nil {
		return err
	}
	for _, of := range all {
		if len(of.GetFinalizers()) == 0 {
			continue
		}
		if err := m.remove(ctx, of, inDefinitions); err != nil {
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
		if err := m.untilDeleted(ctx, kind); err != nil {
			return err
		}
		m.say("deleted the CustomResourceDefinition %s", kind.definition())
	}
	m.say("the migration is finished")
	return nil
}

// untilAll waits until the condition Ready of all controllers that the server has looked at has a reason that fits.
func (m *Migration) untilAll(ctx context.Context, what string, fits func(reason any) bool) error {
	return m.until(ctx, what, func(ctx context.Context) error {
		all, err := m.controllers(ctx)
		for name, of := range all {
			if reason, message := readyOf(of.Unstructured); reason != "" && !fits(reason) {
				return fmt.Errorf("%s: its condition Ready has the reason %s: %s", name, reason, message)
			}
		}
		return err
	})
}

// readyOf returns the reason and the message of the condition Ready of a controller; nothing if it has none.
func readyOf(of *unstructured.Unstructured) (reason, message any) {
	conditions, _, _ := unstructured.NestedSlice(of.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == v1alpha1.ConditionReady {
			return condition["reason"], condition["message"]
		}
	}
	return "", ""
}
