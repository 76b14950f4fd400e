// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"context"
	"encoding/binary"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/feed"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// The bounds of what is kept.
const (
	// maxCalls bounds the calls of a controller that are kept of each sort: those that succeeded, and those that
	// failed.
	maxCalls = 50
	// processBytes bounds the bytes of requests and answers that are kept of all controllers together. Each of the
	// two sorts of each controller has an equal share, but at most maxRingBytes.
	processBytes = 16 << 20
	maxRingBytes = 512 << 10
	// bodiesOfRing is the number of bodies that fit into a ring, if each has the largest size that is kept completely.
	bodiesOfRing = 4
)

// Log has the last calls of all controllers of a process. Its methods may be called concurrently.
type Log struct {
	changes feed.Feed[key]
	// names makes the names of calls unique.
	names names
	// ringBytes is the bound of each ring.
	ringBytes atomic.Int64
	// deleted are the namespaces that were deleted lately.
	deleted deletedNamespaces

	mu          sync.Mutex
	controllers map[v1alpha1.ControllerReference]*Controller
}

// key identifies a call. It may have been dropped.
type key struct {
	of     *Controller
	number uint64
	row    types.NamespacedName
}

// New returns an empty log of the process that begins now.
func New(now time.Time) *Log {
	l := &Log{names: names{process: now.UnixNano()}, controllers: map[v1alpha1.ControllerReference]*Controller{}}
	l.ringBytes.Store(maxRingBytes)
	return l
}

// Of returns the calls of a controller: those that were kept before, if there are any. A nil log keeps nothing.
func (l *Log) Of(of v1alpha1.ControllerReference) *Controller {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.controllers[of]; known != nil {
		return known
	}
	added := newController(l, of)
	l.controllers[of] = added
	l.share()
	return added
}

// Forget drops the calls of a controller that is gone.
func (l *Log) Forget(of v1alpha1.ControllerReference) {
	if l == nil {
		return
	}
	l.mu.Lock()
	known := l.controllers[of]
	delete(l.controllers, of)
	l.share()
	l.mu.Unlock()
	if known != nil {
		known.dropWhere(func(*call) bool { return true })
	}
}

// ForgetNamespace drops the calls that show objects in a namespace that was deleted, as well as those that are made at
// this moment. Users of a new namespace of that name have no right to see them.
func (l *Log) ForgetNamespace(name string, now time.Time) {
	l.deleted.add(name, now)
	for _, one := range l.all() {
		one.dropWhere(func(of *call) bool { return of.shows(name) })
	}
}

// share gives each ring its part of the bytes.
func (l *Log) share() {
	share := min(maxRingBytes, processBytes/max(2*len(l.controllers), 1))
	if int64(share) >= l.ringBytes.Swap(int64(share)) {
		return
	}
	for _, one := range l.controllers {
		one.shrink(share)
	}
}

func (l *Log) all() (all []*Controller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.controllers {
		all = append(all, one)
	}
	return all
}

// Follow calls tell with all calls without their bodies, then with new and dropped calls, until ctx ends or tell
// returns an error. It returns that error, or the error of ctx.
func (l *Log) Follow(
	ctx context.Context, tell func(changed []*v1alpha1.HookCall, gone []types.NamespacedName) error,
) error {
	return l.changes.Follow(ctx,
		func() error {
			var rows []*v1alpha1.HookCall
			for _, one := range l.all() {
				rows = append(rows, one.rows()...)
			}
			return tell(rows, nil)
		},
		func(keys []key) error {
			var changed []*v1alpha1.HookCall
			var gone []types.NamespacedName
			for _, key := range keys {
				if row := key.of.row(key.number); row != nil {
					changed = append(changed, row)
				} else {
					gone = append(gone, key.row)
				}
			}
			return tell(changed, gone)
		})
}

// Get returns a call with its bodies, in which secrets are blanked, and the permissions that a user needs to see it.
// It returns nil if the call is no longer kept.
func (l *Log) Get(name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required) {
	for _, one := range l.all() {
		if found, required := one.get(name); found != nil {
			return found, required
		}
	}
	return nil, nil
}

// names creates names of calls, which sort by time.
type names struct {
	// process identifies the process.
	process int64
}

// suffixes is the number of suffixes: all four-digit numbers in base 36.
const suffixes = 36 * 36 * 36 * 36

// of returns the name of the call with that number, which began at a time: the time in microseconds, and a suffix
// that distinguishes it from calls of other controllers and processes at the same time.
func (n names) of(number uint64, began time.Time) string {
	seed := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n.process)), number)
	suffix := strconv.FormatUint(suffixes+xxhash.Sum64(seed)%suffixes, 36)[1:]
	microseconds := strconv.Itoa(1_000_000 + began.Nanosecond()/1000)[1:]
	return began.UTC().Format("20060102-150405") + "-" + microseconds + "-" + suffix
}

// deletedNamespaces has the times at which namespaces were deleted. The zero value is empty. Its methods may be called
// concurrently.
type deletedNamespaces struct {
	mu sync.Mutex
	at map[string]time.Time
}

// maxCallTime is longer than a call takes.
const maxCallTime = 24 * time.Hour

func (d *deletedNamespaces) add(name string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == nil {
		d.at = map[string]time.Time{}
	}
	maps.DeleteFunc(d.at, func(_ string, at time.Time) bool { return now.Sub(at) > maxCallTime })
	d.at[name] = now
}

// isAfterCall reports whether a namespace that a call shows was deleted after the call began.
func (d *deletedNamespaces) isAfterCall(of *Call) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.at) == 0 {
		return false
	}
	if d.at[of.Snapshot.Parent.Namespace].After(of.Began) {
		return true
	}
	for _, one := range of.Snapshot.RelatedObjects() {
		if d.at[one.Namespace].After(of.Began) {
			return true
		}
	}
	return false
}
