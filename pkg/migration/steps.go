// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// answerTimeout bounds the time for which a step waits for an answer that it can do without.
const answerTimeout = 5 * time.Second

// Switch moves all objects to the server, and starts its controllers. If it fails, it undoes its changes.
func (m *Migration) Switch(ctx context.Context) error {
	now, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case now.side == inServer && !now.isInterrupted():
		m.say("the server already has the objects")
		return m.workloads.sayBeside(ctx, now)
	case now.side == inServer:
		return incomplete(m.serveFromServer(ctx))
	case now.leadsHere: // the objects can be read only in the copyVersion
		if err := sequence(ctx, m.switcher.openAll, m.ensureNoOthers(now)); err != nil {
			return err
		}
	}
	if err := m.check(ctx, now, true); err != nil {
		return err
	}
	return m.move(ctx, m.moveToServer, m.serveFromServer, m.serveFromDefinitions)
}

// Back moves all objects to the definitions, and starts Metacontroller. It creates missing definitions. If it fails, it
// undoes its changes.
func (m *Migration) Back(ctx context.Context) error {
	now, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case now.side == nowhere:
		is, _ := now.describe()
		return errors.New(is)
	case now.side == inDefinitions:
		return m.serveFromDefinitions(ctx)
	}
	if err := m.checkBack(ctx, now); err != nil {
		return err
	}
	return m.move(ctx, m.moveToDefinitions, m.serveFromDefinitions, m.serveFromServer)
}

// move stops Metacontroller, copies the objects, and has the other side serve them. If the copies cannot be made, it
// undoes everything unless the user has interrupted it.
func (m *Migration) move(ctx context.Context, copyAll, complete, undo func(context.Context) error) error {
	if err := m.workloads.stop(ctx); err != nil {
		return err
	}
	err := copyAll(ctx)
	if err == nil {
		return incomplete(complete(ctx))
	}
	if ctx.Err() != nil {
		return incomplete(err)
	}
	m.say("undoing the step, because it failed: %s", err)
	return errors.Join(err, incomplete(undo(ctx)))
}

// incomplete adds the consequences for the cluster to an error.
func incomplete(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nthe step is not complete. Until it is, the cluster may reject writes to the API: run "+
		"'metacontroller-apiserver migrate switch' or 'back'", err)
}

// moveToServer copies the objects to the server, and makes the server authoritative.
func (m *Migration) moveToServer(ctx context.Context) error {
	return sequence(ctx, m.freezer.freeze, m.switcher.openAll, m.switcher.leadHere, m.freezer.untilFrozen,
		m.copier.copyToServer, m.preview, m.switcher.mark(inServer, true))
}

// serveFromServer completes Switch: the server serves its objects, and its controllers run.
func (m *Migration) serveFromServer(ctx context.Context) error {
	err := sequence(ctx, m.switcher.hide, m.switcher.mark(inServer, false), m.freezer.thaw)
	if err == nil {
		m.say("the server runs the controllers: see kubectl get cc,dec")
	}
	return err
}

// moveToDefinitions copies the objects to the definitions, and makes these authoritative.
func (m *Migration) moveToDefinitions(ctx context.Context) error {
	return sequence(ctx, m.freezer.freeze, m.switcher.openAll, m.switcher.mark(inServer, true), m.untilStopped,
		m.copier.copyToDefinitions, m.switcher.mark(inDefinitions, true))
}

// serveFromDefinitions completes Back: the definitions serve their objects, and Metacontroller runs. If the server does
// not answer, its copies stay.
func (m *Migration) serveFromDefinitions(ctx context.Context) error {
	now, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case now.leadsHere && m.answers(ctx):
		err = sequence(ctx, m.switcher.openAll, m.ensureNoOthers(now), m.freezer.freeze,
			m.switcher.mark(inDefinitions, true), m.switcher.show, m.copier.clean)
	case now.leadsHere:
		m.say("the server does not answer. If its storage has copies of the objects, remove them: otherwise they reappear " +
			"when the server serves the API again")
	}
	if err != nil {
		return err
	}
	if err := sequence(ctx, m.switcher.show, m.switcher.leadBack, m.switcher.restore); err != nil {
		return err
	}
	m.say("the CustomResourceDefinitions serve the API")
	return errors.Join(m.freezer.thaw(ctx), m.workloads.start(ctx))
}

// answers reports whether the server serves the API within some seconds.
func (m *Migration) answers(ctx context.Context) bool {
	serves := m.switcher.serves(inServer)
	return wait.PollUntilContextTimeout(ctx, pollInterval, answerTimeout, true, func(ctx context.Context) (bool, error) {
		return serves(ctx) == nil, nil
	}) == nil
}

// ensureNoOthers returns a step that fails if the server has objects of its own, because it was installed over the
// definitions. While writes are refused it has only copies.
func (m *Migration) ensureNoOthers(now *state) func(context.Context) error {
	return func(ctx context.Context) error {
		if now.frozen {
			return nil
		}
		differences, _, err := m.copier.compare(ctx, inDefinitions, inServer)
		if err != nil {
			return err
		}
		return m.copier.refuseOthers(differences)
	}
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
	if err := m.removeFinalizers(ctx, now); err != nil {
		return err
	}
	for _, of := range now.definitions {
		err := m.dynamic.Resource(definitions()).Delete(ctx, of.GetName(),
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(of.GetUID())}})
		if err != nil {
			return fmt.Errorf("delete the CustomResourceDefinition %s: %w", of.GetName(), err)
		}
		m.say("deleted the CustomResourceDefinition %s", of.GetName())
	}
	err = m.until(ctx, "the deletion of the CustomResourceDefinitions", func(ctx context.Context) error {
		now, err := m.state(ctx)
		if err == nil && len(now.definitions) > 0 {
			err = fmt.Errorf("kube-apiserver has not deleted %s yet", now.definitions[0].GetName())
		}
		return err
	})
	if err == nil {
		m.say("the migration is finished")
	}
	return err
}

// removeFinalizers deletes the objects with finalizers in the definitions: the programs behind them watch the server,
// so the definitions would never be gone.
func (m *Migration) removeFinalizers(ctx context.Context, now *state) error {
	var present []kind
	for _, of := range now.definitions {
		present = append(present, of.kind())
	}
	if err := m.switcher.open(ctx, present); err != nil {
		return err
	}
	all, err := m.copier.read(ctx, copyVersion, present)
	for _, of := range all {
		if err == nil && len(of.GetFinalizers()) > 0 {
			err = m.copier.remove(ctx, of, inDefinitions)
		}
	}
	return err
}

// untilStopped waits until all controllers of the server have stopped.
func (m *Migration) untilStopped(ctx context.Context) error {
	err := m.until(ctx, "all controllers of the server to stop", func(ctx context.Context) error {
		all, err := m.copier.read(ctx, servedVersion, kinds()[1:])
		for name, of := range all {
			reason, err := readyReason(of)
			switch {
			case err != nil:
				return err
			case !slices.Contains(stoppedReasons(), reason):
				return fmt.Errorf("%s: its condition Ready has the reason %s", name, reason)
			}
		}
		return err
	})
	if err == nil {
		m.say("the controllers of the server are stopped")
	}
	return err
}

// stoppedReasons are the reasons of controllers that do not run. The server does not know a controller without a reason
// yet.
func stoppedReasons() []string {
	return []string{"", v1alpha1.ReasonNotObservedYet, v1alpha1.ReasonHeld, v1alpha1.ReasonNotSelected}
}

// readyReason returns the reason of the condition Ready of a controller; "" if there is none.
func readyReason(of object) (string, error) {
	typed := struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Object, &typed); err != nil {
		return "", err
	}
	if ready := meta.FindStatusCondition(typed.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason, nil
	}
	return "", nil
}
