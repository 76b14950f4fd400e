// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// RunTwiceError is the error of controllers that both Metacontroller and this server would run.
type RunTwiceError struct {
	Workload    Workload
	Controllers []string
}

func (e *RunTwiceError) Error() string {
	return fmt.Sprintf("Metacontroller runs, as %s, and would run %s beside the server: scale it to zero, have --stop-original do that, or part them by --target-label-selector: %s",
		e.Workload, counted(len(e.Controllers), "controller"), enumerate.First(maxNamed, e.Controllers))
}

// ensureApart sees to it that nothing is run by both Metacontroller and this server: Metacontroller has stopped, or each has a
// --target-label-selector that matches other controllers. Once this server serves the API, Metacontroller is one of its clients.
func (m *Migration) ensureApart(ctx context.Context) error {
	found, err := m.originals(ctx)
	if err != nil {
		return err
	}
	for _, of := range found {
		if of.replicas > 0 {
			twice, err := m.runTwice(ctx, of)
			if err != nil {
				return err
			}
			if len(twice) == 0 {
				m.say("Metacontroller goes on as %s: its --target-label-selector matches nothing that the server runs", of.Workload)
				continue
			}
			if !m.config.StopOriginal {
				return &RunTwiceError{of.Workload, twice}
			}
		}
		if err := m.stop(ctx, of); err != nil {
			return err
		}
	}
	m.sayIfNotFound(found)
	return nil
}

// runTwice returns the controllers that a workload of Metacontroller selects, and this server too.
func (m *Migration) runTwice(ctx context.Context, of runningOriginal) (twice []string, err error) {
	theirs, err := m.selectors(ctx, of)
	if err != nil {
		return nil, err
	}
	flags, err := m.serverFlags(ctx)
	if err != nil {
		return nil, err
	}
	ours := labels.Nothing()
	if flags != nil {
		if ours, err = labels.Parse(flags[targetFlag]); err != nil {
			return nil, fmt.Errorf("the server's --%s: %w", targetFlag, err)
		}
	}
	controllers, err := m.controllers(ctx)
	if err != nil {
		return nil, err
	}
	for _, is := range controllers {
		here, err := isSelectedHere(is.Unstructured)
		if err != nil {
			return nil, err
		}
		if (here || ours.Matches(labels.Set(is.GetLabels()))) && anyMatches(theirs, is.GetLabels()) {
			twice = append(twice, is.String())
		}
	}
	return twice, nil
}

// selectors returns the label selectors by which a workload of Metacontroller selects controllers: that of its template, and those of its
// Pods, which may be older.
func (m *Migration) selectors(ctx context.Context, of runningOriginal) (all []labels.Selector, err error) {
	pods, err := m.pods(ctx, of)
	if err != nil {
		return nil, err
	}
	args := [][]string{of.args}
	for _, pod := range pods {
		ofPod, _ := argsOfOriginal(pod.Spec)
		args = append(args, ofPod)
	}
	for _, of := range args {
		selector, err := labels.Parse(flagsOf(of)[targetFlag])
		if err != nil {
			return nil, fmt.Errorf("the --%s of Metacontroller: %w", targetFlag, err)
		}
		all = append(all, selector)
	}
	return all, nil
}

func anyMatches(selectors []labels.Selector, set map[string]string) bool {
	for _, selector := range selectors {
		if selector.Matches(labels.Set(set)) {
			return true
		}
	}
	return false
}

// isSelectedHere reports whether the status of a controller object says that this server selects it.
func isSelectedHere(of *unstructured.Unstructured) (bool, error) {
	all, err := readyOf(of)
	for _, ready := range all {
		if ready.Reason != v1alpha1.ReasonNotSelected {
			return true, err
		}
	}
	return false, err
}
