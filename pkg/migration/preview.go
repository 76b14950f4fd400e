// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// previewPage is the number of parents of one preview, and previewSeconds its timeout.
	previewPage    = 100
	previewSeconds = 30
	// maxWrites bounds the writes that are printed.
	maxWrites = 30
)

// preview collects what the controllers of the server would write if they ran now.
type preview struct {
	*cluster
	// parents is the number of previewed parents.
	parents int
	// children are writes to children, others are writes to parents and their revisions, and failures are errors.
	children, others, failures []string
}

// preview prints what the controllers of the server would write, by calling their hooks. It returns an error if that is
// more than the user accepts.
func (m *Migration) preview(ctx context.Context) error {
	controllers, err := m.copier.controllers(ctx)
	if err != nil {
		return err
	}
	p := &preview{cluster: m.cluster}
	for _, of := range controllers {
		if err := p.addController(ctx, v1alpha1.SyncReviewController{Kind: of.name, Name: of.GetName()}); err != nil {
			return err
		}
	}
	m.say("previewed %s: %s to children", counted(p.parents, "parent"), counted(len(p.children), "write"))
	p.list("", p.children)
	p.list("expected writes to parents and revisions:", p.others)
	p.list("failures:", p.failures)
	if len(p.children)+len(p.failures) > 0 && !m.config.AcceptWrites {
		return errors.New("the controllers of the server would write children, or fail, as listed above: correct that, or " +
			"repeat this with --accept-writes")
	}
	return nil
}

// addController previews all parents of a controller.
func (p *preview) addController(ctx context.Context, of v1alpha1.SyncReviewController) error {
	parents := &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](previewPage)}
	for {
		answer, err := p.reviews.Create(ctx, &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
			Controller: of, Until: v1alpha1.SyncReviewUntilPlan, Details: v1alpha1.SyncReviewDetailsSteps,
			TimeoutSeconds: ptr.To[int32](previewSeconds), Parents: parents,
		}}, metav1.CreateOptions{})
		switch {
		case isAboutController(err):
			p.failures = append(p.failures, fmt.Sprintf("%s %s: %s", of.Kind, of.Name, err))
			return nil
		case err != nil:
			return fmt.Errorf("preview %s %s: %w", of.Kind, of.Name, err)
		}
		p.note(of, answer.Status.Syncs)
		if parents.Continue = answer.Status.Continue; parents.Continue == "" {
			return nil
		}
	}
}

// isAboutController reports whether an error is the fault of the controller that was previewed.
func isAboutController(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) ||
		apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// note adds the results of the syncs of some parents.
func (p *preview) note(of v1alpha1.SyncReviewController, syncs []v1alpha1.ReviewedSync) {
	p.parents += len(syncs)
	for _, sync := range syncs {
		about := fmt.Sprintf("%s %s, %s: ", of.Kind, of.Name, named(sync.Parent))
		if sync.Error != "" {
			p.failures = append(p.failures, about+sync.Error)
		}
		for _, refused := range sync.Refused {
			p.failures = append(p.failures, about+refused)
		}
		for _, step := range sync.Steps {
			line := fmt.Sprintf("%s%s %s: %s", about, step.Operation, named(step.ReviewedObject), step.Why)
			isRevision := step.Kind == "ControllerRevision" && step.APIVersion == v1alpha1.SchemeGroupVersion.String()
			if isRevision || step.ReviewedObject == sync.Parent {
				p.others = append(p.others, line)
			} else {
				p.children = append(p.children, line)
			}
		}
	}
}

// list prints some lines.
func (p *preview) list(title string, lines []string) {
	slices.Sort(lines)
	if len(lines) > 0 && title != "" {
		p.say("%s", title)
	}
	for _, line := range lines[:min(len(lines), maxWrites)] {
		p.say("  %s", strings.ReplaceAll(line, "\n", "\n    "))
	}
	if more := len(lines) - maxWrites; more > 0 {
		p.say("  and %d more", more)
	}
}

func named(of v1alpha1.ReviewedObject) string {
	if of.Namespace == "" {
		return of.Kind + " " + of.Name
	}
	return of.Kind + " " + of.Namespace + "/" + of.Name
}
