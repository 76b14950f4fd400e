// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// The limits of reviews.
const (
	// maxAtOnce bounds the concurrent reviews of a process, and maxOfUser those of one user.
	maxAtOnce, maxOfUser = 8, 4
	// After the sync of a parent, a review waits pauseFactor times the duration of that sync, but at most maxPause,
	// because a slow hook takes little time of this process.
	pauseFactor, maxPause = 9, 20 * time.Millisecond
	// retryAfter is the delay after which a client that exceeds these limits should retry.
	retryAfter = 2 * time.Second
	// maxAnswerBytes is how large an answer may be.
	maxAnswerBytes = 6 << 20
	// defaultTimeout bounds the duration of a review whose spec sets no timeout.
	defaultTimeout = 20 * time.Second
	// defaultLimit bounds the parents in the answer to a review whose spec sets no limit.
	defaultLimit = 20
)

// Reviews answers SyncReviews. Its methods may be called concurrently.
type Reviews struct {
	// reconcilers are the reconcilers of each kind of controllers.
	reconcilers map[string]*lifecycle.Reconciler
	// loopback reaches the API server of this process as a user who may do everything.
	loopback *rest.Config
	rights   rights.Reviews
	key      *redact.Key
	// counts are the reviews. They leave no HookCalls and do not count as calls of a hook: a line in the log and this
	// count are all that remains of each.
	counts *prometheus.CounterVec

	mu sync.Mutex
	// underWay counts the reviews of each user.
	underWay map[string]int
	all      int
}

// New returns Reviews of the controllers of the given reconcilers.
func New(loopback *rest.Config, reviews rights.Reviews, reconcilers ...*lifecycle.Reconciler) *Reviews {
	r := &Reviews{
		loopback: loopback, rights: reviews, key: redact.NewKey(), counts: newCounts(),
		reconcilers: map[string]*lifecycle.Reconciler{}, underWay: map[string]int{},
	}
	for _, reconciler := range reconcilers {
		r.reconcilers[reconciler.Kind()] = reconciler
	}
	return r
}

// NewOpen is New for reviews that show Secrets as they are, of those who have them anyway.
func NewOpen(loopback *rest.Config, reviews rights.Reviews, reconcilers ...*lifecycle.Reconciler) *Reviews {
	r := New(loopback, reviews, reconcilers...)
	r.key = nil
	return r
}

func newCounts() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "metacontroller", Name: "sync_reviews_total",
		Help: "Total number of SyncReviews by controller and result: answered, refused or failed",
	}, []string{"controller_name", "controller_type", "result"})
}

// Counts has the number of reviews, for metrics.
func (r *Reviews) Counts() prometheus.Collector { return r.counts }

// Answer sets the status of a review, whose spec must be valid. The warnings are those about a candidate. The API
// may return the error as it is.
func (r *Reviews) Answer(
	ctx context.Context, author rights.User, review *v1alpha1.SyncReview,
) (warnings []string, err error) {
	if err := r.enter(author.Name); err != nil {
		return nil, err
	}
	defer r.leave(author.Name)
	timeout := defaultTimeout
	if seconds := review.Spec.TimeoutSeconds; seconds != nil {
		timeout = time.Duration(*seconds) * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("spec.timeoutSeconds (%s) has elapsed", timeout))
	defer cancel()
	one := &reviewing{
		Reviews: r, spec: &review.Spec, author: author, permit: newPermit(r.rights, author, review.Spec.Controller),
		limit: int(ptr.Deref(limitOf(&review.Spec), defaultLimit)),
	}
	err = one.runSafely(host.WithAuthor(ctx, author.Name))
	one.trace(ctx, err)
	if err != nil {
		return one.warnings, err
	}
	review.Status = one.status
	return one.warnings, nil
}

func limitOf(spec *v1alpha1.SyncReviewSpec) *int32 {
	if spec.Parents == nil {
		return nil
	}
	return spec.Parents.Limit
}

// enter takes one of the places for reviews. The error says to try again later.
func (r *Reviews) enter(user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	whose := ""
	switch {
	case r.all >= maxAtOnce:
		whose = fmt.Sprintf("%d reviews are", r.all)
	case r.underWay[user] >= maxOfUser:
		whose = fmt.Sprintf("%d reviews of user %q are", r.underWay[user], user)
	default:
		r.all++
		r.underWay[user]++
		return nil
	}
	return apierrors.NewTooManyRequests(whose+" being answered; try again later", int(retryAfter.Seconds()))
}

// unavailable returns the error of a review that the cluster keeps from being answered. It says when to try again.
func unavailable(text string) error {
	err := apierrors.NewServiceUnavailable(text)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter.Seconds())}
	return err
}

func (r *Reviews) leave(user string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.underWay[user]--; r.underWay[user] == 0 {
		delete(r.underWay, user)
	}
}
