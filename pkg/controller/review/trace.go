// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Reviews leave no HookCalls and count as no calls of a hook. What is left of each is a line in the log, with its
// author, and a count.

func newCounts() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "metacontroller", Name: "sync_reviews_total",
		Help: "Total number of SyncReviews by controller and result: answered, refused or failed",
	}, []string{"controller_name", "controller_type", "result"})
}

// Counts has the number of reviews, for metrics.
func (r *Reviews) Counts() prometheus.Collector { return r.counts }

// trace counts and logs a review that has ended. A controller that its author may not read, or that does not exist, is
// counted without its name.
func (r *reviewing) trace(ctx context.Context, err error) {
	result := "answered"
	switch {
	case apierrors.IsForbidden(err):
		result = "refused"
	case err != nil:
		result = "failed"
	}
	of, name := r.spec.Controller, ""
	if r.isStored {
		name = of.Name
	}
	r.counts.WithLabelValues(name, of.Kind, result).Inc()
	logger := klog.FromContext(ctx).WithValues("user", r.author.Name, "kind", of.Kind, "controller", of.Name,
		"until", r.spec.Until, "callsHooks", r.spec.Calls != v1alpha1.SyncReviewCallsNone, "result", result,
		"candidate", r.spec.Candidate != nil, "request", r.spec.Request != nil, "object", r.spec.Object != nil,
		"answers", r.spec.Response != nil || len(r.spec.Responses) > 0, "syncs", len(r.status.Syncs))
	if err != nil {
		logger = logger.WithValues("reason", apierrors.ReasonForError(err))
	}
	logger.Info("Reviewed syncs")
}
