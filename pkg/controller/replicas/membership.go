// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// AddressAnnotation is the annotation of a Lease with the address at which other replicas reach the one that has it.
const AddressAnnotation = "metacontroller.k8s.io/peer-address"

// GroupLabel is the label of the Leases of replicas that share controllers. Its value names their group.
const GroupLabel = "metacontroller.k8s.io/replicas-of"

const (
	// renewPeriod is how often a replica renews its Lease, and looks at those of the others.
	renewPeriod = 2 * time.Second
	// validity is how long a replica acts after it has sent the last renewal that was answered.
	validity = 6 * time.Second
	// leaseDuration is how long the others wait, from when they have seen the last renewal, until they take
	// over. What was sent before the end of validity has this much longer to arrive.
	leaseDuration = 9 * time.Second
	// forgottenAfter is how long the Lease of a dead replica is kept.
	forgottenAfter = time.Minute
)

// Config is what a replica needs to be one.
type Config struct {
	// Client is that of the host, and Namespace that of the Leases.
	Client    kubernetes.Interface
	Namespace string
	// Group names the replicas that share controllers.
	Group string
	// Address is where other replicas reach this process: host and port.
	Address string
	// Process names this process. Each time it joins, its replica has another name, which begins with this.
	Process string
}

// Membership is the part of one replica. It knows which others are alive.
type Membership struct {
	Fence *Fence

	config  Config
	replica string
	// changed is called when replicas have come or gone. It must not block.
	changed func()

	mu sync.Mutex
	// leaving is true if this replica lets go of its controllers.
	leaving bool
	// others are the replicas with a Lease, and those that had one or were asked for.
	others map[string]*sighting
}

// sighting is what was last seen of a replica.
type sighting struct {
	// renewed is the time in its Lease, by the clock of that replica; zero if it has no Lease.
	renewed time.Time
	// leaving is true if it takes no controllers any more, or has no Lease.
	leaving bool
	// stale is true if its Lease had expired when this replica saw it first, by the time of day. It may be dead for
	// long, which the replicas that saw it die know. Until it renews its Lease, nothing is left for it.
	stale bool
	// since is when this was first seen.
	since instant
	// dead is true if its controllers may be taken over.
	dead bool
	// address is that in its Lease.
	address string
}

// Join makes this process a replica, and runs work until ctx ends, or until the Lease could not be renewed
// in time. The context of work ends then. The Lease is kept until work has returned. Join returns a *JoinError, or
// the error of work; that the Lease was lost is none.
func Join(ctx context.Context, config Config, work func(context.Context, *Membership) error) error {
	m := &Membership{config: config, replica: config.Process + "-" + rand.String(5), changed: func() {}, others: map[string]*sighting{}}
	logger := klog.FromContext(ctx).WithValues("replica", m.replica)
	sent := now()
	if err := m.create(ctx); err != nil {
		return &JoinError{err}
	}
	working, stop := context.WithCancelCause(klog.NewContext(context.WithoutCancel(ctx), logger))
	defer stop(nil)
	m.Fence = newFence(sent, validity, stop)
	defer m.Fence.close()
	logger.Info("Successfully acquired lease", "group", config.Group)

	var running sync.WaitGroup
	keeping, endKeeping := context.WithCancel(context.WithoutCancel(ctx))
	running.Go(func() { m.follow(keeping) })
	running.Go(func() { m.keep(keeping, stop) })
	running.Go(func() { m.followDead(keeping) })
	running.Go(func() {
		select {
		case <-ctx.Done():
			m.leave(keeping)
			stop(nil)
		case <-working.Done(): // the Lease is lost
		case <-keeping.Done():
		}
	})
	err := work(working, m)
	endKeeping()
	running.Wait()
	m.Fence.close()
	m.delete(context.WithoutCancel(ctx), m.replica)
	if cause := context.Cause(working); errors.Is(cause, ErrLeaseLost) {
		logger.Error(cause, "Stopped all controllers")
	}
	return err
}

// JoinError is the error of a process that could not become a replica. It may try again.
type JoinError struct{ err error }

func (e *JoinError) Error() string { return "create the Lease of this replica: " + e.err.Error() }

func (e *JoinError) Unwrap() error { return e.err }

// Name returns the name of this replica.
func (m *Membership) Name() string { return m.replica }

// OnChange has a function called when replicas come or go from now on.
func (m *Membership) OnChange(changed func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = changed
}

// Alive returns the replicas that take controllers, with this one, in order.
func (m *Membership) Alive() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var alive []string
	if !m.leaving {
		alive = append(alive, m.replica)
	}
	for name, seen := range m.others {
		if !seen.leaving && !seen.stale && !seen.dead {
			alive = append(alive, name)
		}
	}
	slices.Sort(alive)
	return alive
}

// Peers returns the addresses of the other replicas that have a Lease and are not dead, by name. That of an earlier version is empty.
func (m *Membership) Peers() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	peers := map[string]string{}
	for name, seen := range m.others {
		if !seen.dead && !seen.renewed.IsZero() {
			peers[name] = seen.address
		}
	}
	return peers
}

// IsDead reports whether a replica has not renewed its Lease for so long that its controllers may be taken
// over. A replica that was never heard of is dead when it was not heard of for as long.
func (m *Membership) IsDead(replica string) bool {
	if replica == m.replica {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.others[replica]
	if seen == nil {
		unknown := absent()
		m.others[replica] = &unknown
		return false
	}
	return seen.dead
}

func (m *Membership) leases() coordinationclient.LeaseInterface {
	return m.config.Client.CoordinationV1().Leases(m.config.Namespace)
}

func (m *Membership) leaseName(replica string) string { return m.config.Group + "-" + replica }

func (m *Membership) replicaOf(leaseName string) string {
	return strings.TrimPrefix(leaseName, m.config.Group+"-")
}

func (m *Membership) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, validity)
	defer cancel()
	now := metav1.NowMicro()
	_, err := m.leases().Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.leaseName(m.replica), Labels: map[string]string{GroupLabel: m.config.Group},
			Annotations: map[string]string{AddressAnnotation: m.config.Address},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &m.replica, LeaseDurationSeconds: ptr.To(int32(leaseDuration / time.Second)), AcquireTime: &now, RenewTime: &now,
		},
	}, metav1.CreateOptions{})
	return err
}

// keep renews the Lease until ctx ends or the Lease is lost.
func (m *Membership) keep(ctx context.Context, lost func(error)) {
	ticker := time.NewTicker(renewPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		// One that wakes after its Lease has expired must not renew it: the others would count on it again.
		err := m.Fence.Check()
		if err == nil {
			m.renew(ctx)
			err = m.Fence.Check()
		}
		if err != nil {
			lost(err)
			return
		}
	}
}

// followDead looks for dead replicas until ctx ends. It is not part of keep, since the host may answer its requests late.
func (m *Membership) followDead(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if m.Fence.Check() == nil {
			m.findDead(ctx)
		}
	}, renewPeriod)
}

// renew renews the Lease. If somebody has deleted it, others may no longer count on this replica.
func (m *Membership) renew(ctx context.Context) {
	sent := now()
	switch err := m.patch(ctx, map[string]any{"renewTime": metav1.NowMicro()}); {
	case err == nil:
		m.Fence.extend(sent)
	case apierrors.IsNotFound(err):
		m.Fence.close()
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "Failed to renew the Lease")
	}
}

// leave says in the Lease that this replica takes no controllers any more.
func (m *Membership) leave(ctx context.Context) {
	m.mu.Lock()
	m.leaving = true
	m.mu.Unlock()
	if err := m.patch(ctx, map[string]any{"holderIdentity": ""}); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to tell the other replicas that this one is leaving", "replica", m.replica)
	}
}

func (m *Membership) patch(ctx context.Context, spec map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, renewPeriod)
	defer cancel()
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err == nil {
		_, err = m.leases().Patch(ctx, m.leaseName(m.replica), types.MergePatchType, body, metav1.PatchOptions{})
	}
	return err
}

// get reads the Lease of a replica from the host.
func (m *Membership) get(ctx context.Context, replica string) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, renewPeriod)
	defer cancel()
	return m.leases().Get(ctx, m.leaseName(replica), metav1.GetOptions{})
}

// delete deletes the Lease of a replica. Whoever looks for it later finds it dead.
func (m *Membership) delete(ctx context.Context, replica string) {
	ctx, cancel := context.WithTimeout(ctx, renewPeriod)
	defer cancel()
	if err := m.leases().Delete(ctx, m.leaseName(replica), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "Failed to delete a Lease; another replica does it later", "replica", replica)
	}
}

// findDead notes which replicas are dead. A Lease that was not seen to be renewed is read from the host
// before: its watch may be late.
func (m *Membership) findDead(ctx context.Context) {
	for _, name := range m.overdue() {
		lease, err := m.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			m.note(name, absent())
		case err != nil:
			continue // the next time
		default:
			m.see(lease)
		}
		if m.bury(name) {
			klog.FromContext(ctx).Info("A replica does not renew its Lease, its controllers are taken over", "dead", name)
		}
	}
	for _, name := range m.longDead() {
		m.delete(ctx, name)
	}
}

// overdue returns the replicas that were not seen to renew their Leases.
func (m *Membership) overdue() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, seen := range m.others {
		if !seen.dead && seen.since.elapsed() > leaseDuration {
			names = append(names, name)
		}
	}
	return names
}

// bury notes that a replica is dead if that is still so. It reports whether its Lease has expired: one that has left has none.
func (m *Membership) bury(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.others[name]
	if seen == nil || seen.since.elapsed() <= leaseDuration {
		return false
	}
	seen.dead = true
	m.changed()
	return !seen.renewed.IsZero()
}

// longDead returns the replicas whose Leases are to be deleted. It forgets those without one.
func (m *Membership) longDead() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, seen := range m.others {
		if !seen.dead || seen.since.elapsed() < forgottenAfter {
			continue
		}
		if seen.renewed.IsZero() {
			delete(m.others, name)
			continue
		}
		names = append(names, name)
	}
	return names
}

// see notes what a Lease says.
func (m *Membership) see(lease *coordinationv1.Lease) {
	if lease.Spec.RenewTime != nil {
		m.note(m.replicaOf(lease.Name), sighting{
			renewed: lease.Spec.RenewTime.Time, leaving: ptr.Deref(lease.Spec.HolderIdentity, "") == "", since: now(),
			address: lease.Annotations[AddressAnnotation]})
	}
}

// absent is the sighting of a replica without a Lease.
func absent() sighting { return sighting{leaving: true, since: now()} }

// note notes what was seen of a replica, if that is new.
func (m *Membership) note(name string, seen sighting) {
	if name == m.replica {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.others[name]
	if before != nil && before.renewed.Equal(seen.renewed) && before.leaving == seen.leaving {
		return
	}
	isFirst := before == nil || before.renewed.IsZero()
	seen.stale = isFirst && time.Since(seen.renewed) > leaseDuration
	m.others[name] = &seen
	if before == nil || before.dead || before.leaving != seen.leaving || before.stale != seen.stale {
		m.changed()
	}
}
