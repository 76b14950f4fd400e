// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// maxUntendedBytes is how much may be written until the keeper is woken: as much as the log may
	// grow before the keeper makes it shorter.
	maxUntendedBytes = 32 << 20

	// turnsOfRefused is how many turns of the keeper a write waits for that etcd refuses: the first
	// may have begun before it.
	turnsOfRefused = 2
)

// gate refuses writes while there is no space for them, before they reach the log of etcd. etcd
// itself knows only its quota: if the volume is full, it ends. Reads and deletions always pass,
// since deletions are the way to make room. A write that etcd refuses waits for the keeper, which may
// have let the database reach its quota only because it was slower than the writes.
type gate struct {
	dataDir string
	sizing  sizing
	reserve *reserve

	// low is true while the volume has too little space left.
	low atomic.Bool
	// full is true while the database has reached its quota: the alarm NOSPACE of etcd is raised.
	full atomic.Bool

	// unmeasured and untended count the bytes written since the volume was measured and since the
	// keeper was woken.
	unmeasured, untended atomic.Int64
	// wake wakes the keeper, and turns says when it has done its work.
	wake  chan struct{}
	turns turns
	// refusal returns the message for a write that is refused.
	refusal func() string
}

func newGate(dataDir string, sizing sizing, reserve *reserve) *gate {
	return &gate{dataDir: dataDir, sizing: sizing, reserve: reserve, wake: make(chan struct{}, 1)}
}

// intercept is a gRPC interceptor of the requests of clients.
func (g *gate) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	size := writtenBytes(request)
	if size == 0 {
		return next(ctx, request)
	}
	if !g.admit(size) {
		return nil, status.Error(codes.ResourceExhausted, g.refusal())
	}
	response, err := next(ctx, request)
	for range turnsOfRefused {
		if !errors.Is(err, rpctypes.ErrGRPCNoSpace) {
			return response, err
		}
		turn := g.turns.next()
		g.full.Store(true)
		g.wakeKeeper()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		if g.refuses() {
			break
		}
		response, err = next(ctx, request)
	}
	if errors.Is(err, rpctypes.ErrGRPCNoSpace) {
		err = status.Error(codes.ResourceExhausted, g.refusal())
	}
	return response, err
}

// admit reports whether a write may pass. It measures the volume again after every eighth of the
// floor that was written, so that the floor is never used up between two measurements: a write goes
// to the log and to the database.
func (g *gate) admit(size int64) bool {
	if g.unmeasured.Add(size) > g.sizing.floor/8 {
		g.measure()
	}
	if g.untended.Add(size) > min(g.sizing.quota/20, maxUntendedBytes) {
		g.untended.Store(0)
		g.wakeKeeper()
	}
	return !g.refuses()
}

func (g *gate) refuses() bool {
	return g.low.Load() || g.full.Load()
}

// measure measures the volume and closes or opens the gate. It opens at more space than it closes
// at, or it would do both all the time. If the volume cannot be measured, the gate stays as it is.
func (g *gate) measure() {
	g.unmeasured.Store(0)
	space, err := measureVolume(g.dataDir)
	if err != nil {
		return
	}
	available := space.available - g.reserve.missing()
	switch {
	case available < g.sizing.floor:
		if g.low.CompareAndSwap(false, true) {
			g.wakeKeeper()
		}
	case available >= g.opensAt():
		g.low.Store(false)
	}
}

// opensAt is the free space, in bytes, from which on writes are taken again.
func (g *gate) opensAt() int64 {
	return g.sizing.floor + g.sizing.floor/2
}

func (g *gate) wakeKeeper() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// turns lets others wait for the end of the keeper's turns.
type turns struct {
	mu  sync.Mutex
	end chan struct{}
}

// next returns a channel that is closed at the end of the turn, or of the next one if there is none.
func (t *turns) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.end = make(chan struct{})
	}
	return t.end
}

func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		close(t.end)
		t.end = nil
	}
}

// writtenBytes returns how many bytes a request adds to the storage; 0 means that it only reads or
// deletes.
func writtenBytes(request any) int64 {
	switch r := request.(type) {
	case *pb.PutRequest:
		return int64(proto.Size(r))
	case *pb.LeaseGrantRequest:
		return int64(max(proto.Size(r), 1))
	case *pb.TxnRequest:
		if puts(r.GetSuccess()) || puts(r.GetFailure()) {
			return int64(proto.Size(r))
		}
	}
	return 0
}

func puts(operations []*pb.RequestOp) bool {
	for _, operation := range operations {
		if operation.GetRequestPut() != nil {
			return true
		}
		if nested := operation.GetRequestTxn(); nested != nil && (puts(nested.GetSuccess()) || puts(nested.GetFailure())) {
			return true
		}
	}
	return false
}

// bytesText shows a size to people.
func bytesText(bytes int64) string {
	const kibi = 1 << 10
	switch {
	case bytes >= 10*kibi*kibi*kibi:
		return fmt.Sprintf("%d GiB", bytes/(kibi*kibi*kibi))
	case bytes >= kibi*kibi*kibi:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(kibi*kibi*kibi))
	default:
		return fmt.Sprintf("%d MiB", bytes/(kibi*kibi))
	}
}
