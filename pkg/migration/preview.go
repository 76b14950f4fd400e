// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// parallelPreviews is how many controllers are previewed at once.
	parallelPreviews = 4
	// previewPage is how many parents are in one preview, and previewSeconds how long that may take.
	previewPage    = 100
	previewSeconds = 30
	// maxWrites is how many writes are listed.
	maxWrites = 30
)

// preview lists what the controllers of the server would write if they ran now. Their hooks are called for that.
func (m *Migration) preview(ctx context.Context) error {
	p := &previewing{Migration: m}
	controllers, err := m.controllers(ctx)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelPreviews)
	for _, of := range controllers {
		group.Go(func() error {
			return p.controller(groupCtx, v1alpha1.SyncReviewController{Kind: of.name, Name: of.GetName()})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p.say()
	return nil
}

// previewing collects what controllers would do.
type previewing struct {
	*Migration

	mu sync.Mutex
	// parents are those that were previewed, and changed those of which a child would be written.
	parents, changed int
	// children and revisions are writes to children and to ControllerRevisions.
	children, revisions int
	// ofParents are writes to parents themselves.
	ofParents map[v1alpha1.ReviewedOperation]int
	// lines say what would be written to children, and failures what would fail.
	lines, failures []string
}

// controller previews all parents of a controller.
func (p *previewing) controller(ctx context.Context, of v1alpha1.SyncReviewController) error {
	from := ""
	for {
		answer, err := p.reviews.Create(ctx, &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
			Controller: of, Until: v1alpha1.SyncReviewUntilPlan, Details: v1alpha1.SyncReviewDetailsSteps, TimeoutSeconds: ptr.To[int32](previewSeconds),
			Parents: &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](previewPage), Continue: from},
		}}, metav1.CreateOptions{})
		if isAboutController(err) {
			p.add(func() { p.failures = append(p.failures, fmt.Sprintf("%s %s: %s", of.Kind, of.Name, err)) })
			return nil
		}
		if err != nil {
			return fmt.Errorf("preview %s %s: %w", of.Kind, of.Name, err)
		}
		p.add(func() { p.note(of, &answer.Status) })
		if from = answer.Status.Continue; from == "" {
			return nil
		}
	}
}

// isAboutController reports whether a controller cannot be previewed because of what it is.
func isAboutController(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

func (p *previewing) add(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// note notes an answer. The caller holds mu.
func (p *previewing) note(of v1alpha1.SyncReviewController, answer *v1alpha1.SyncReviewStatus) {
	if p.ofParents == nil {
		p.ofParents = map[v1alpha1.ReviewedOperation]int{}
	}
	for _, sync := range answer.Syncs {
		p.parents++
		about := fmt.Sprintf("%s %s, %s", of.Kind, of.Name, named(sync.Parent))
		if sync.Error != "" {
			p.failures = append(p.failures, about+": "+firstLine(sync.Error))
		}
		for _, refused := range sync.Refused {
			p.failures = append(p.failures, about+": "+firstLine(refused))
		}
		changed := false
		for _, step := range sync.Steps {
			switch {
			case step.ReviewedObject == sync.Parent:
				p.ofParents[step.Operation]++
			case step.Kind == "ControllerRevision" && step.APIVersion == v1alpha1.SchemeGroupVersion.String():
				p.revisions++
			default:
				changed = true
				p.children++
				p.lines = append(p.lines, fmt.Sprintf("%s: %s %s: %s%s", about, step.Operation, named(step.ReviewedObject), step.Why, paths(step.Changes)))
			}
		}
		if changed {
			p.changed++
		}
	}
}

// say prints what was collected.
func (p *previewing) say() {
	slices.Sort(p.lines)
	slices.Sort(p.failures)
	p.Migration.say("previewed %s: %s to children of %s", counted(p.parents, "parent"), counted(p.children, "write"), counted(p.changed, "parent"))
	for _, operation := range []v1alpha1.ReviewedOperation{v1alpha1.ReviewedUpdateStatus, v1alpha1.ReviewedUpdateMetadata, v1alpha1.ReviewedUpdateFinalizers} {
		if count := p.ofParents[operation]; count > 0 {
			p.Migration.say("  %s of %s", operation, counted(count, "parent"))
		}
	}
	if p.revisions > 0 {
		p.Migration.say("  %s would get the annotations by which the server knows them", counted(p.revisions, "ControllerRevision"))
	}
	p.sayList(p.lines)
	if len(p.failures) > 0 {
		p.Migration.say("%d would fail, or leave something out:", len(p.failures))
		p.sayList(p.failures)
	}
}

func (p *previewing) sayList(lines []string) {
	for _, line := range lines[:min(len(lines), maxWrites)] {
		p.Migration.say("  %s", line)
	}
	if more := len(lines) - maxWrites; more > 0 {
		p.Migration.say("  and %d more", more)
	}
}

func named(of v1alpha1.ReviewedObject) string {
	if of.Namespace == "" {
		return of.Kind + " " + of.Name
	}
	return of.Kind + " " + of.Namespace + "/" + of.Name
}

// paths returns the fields that a write changes.
func paths(changes []v1alpha1.ReviewedChange) string {
	var all []string
	for _, change := range changes {
		if change.Path != "" {
			all = append(all, change.Path)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all[:min(len(all), maxAlike)], ", ") + ")"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
