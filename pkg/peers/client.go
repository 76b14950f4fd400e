// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/mirror"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Connect returns a client that shows the user of this process, and trusts the other replicas.
type Connect func(ctx context.Context) (*http.Client, error)

// Peer is another replica.
type Peer struct {
	// Name is that of the replica, and Address is where it serves: host and port.
	Name, Address string

	connect Connect
}

// New returns a peer.
func New(name, address string, connect Connect) Peer { return Peer{name, address, connect} }

// Syncs returns the Syncs of the peer.
func (p Peer) Syncs() mirror.Origin[*v1alpha1.Sync] {
	return mirror.FollowFunc[*v1alpha1.Sync](func(ctx context.Context, tell func([]*v1alpha1.Sync, []types.NamespacedName) error) error {
		return follow(ctx, p, syncsPath, tell)
	})
}

// HookCalls returns the HookCalls of the peer.
func (p Peer) HookCalls() mirror.Origin[*v1alpha1.HookCall] {
	return mirror.FollowFunc[*v1alpha1.HookCall](func(ctx context.Context, tell func([]*v1alpha1.HookCall, []types.NamespacedName) error) error {
		return follow(ctx, p, hookCallsPath, tell)
	})
}

// HookCall returns a call of the peer with its bodies, and the rights that one needs who sees it. It is nil if the call is not
// kept.
func (p Peer) HookCall(ctx context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer callAnswer
	err := p.ask(ctx, http.MethodGet, hookCallsPath+"/"+name.Namespace+"/"+name.Name, nil, &answer)
	if errors.Is(err, errNotFound) {
		return nil, nil, nil
	}
	return answer.Call, answer.Required, err
}

// RequestSyncs has parents synced that the peer runs, unless they are only to be counted. It returns how many there are,
// and how many more stay paused.
func (p Peer) RequestSyncs(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (found v1alpha1.ResyncRequestStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(resyncQuestion{of, *spec, onlyCount})
	if err != nil {
		return found, err
	}
	err = p.ask(ctx, http.MethodPost, resyncPath, body, &found)
	return found, err
}

var errNotFound = errors.New("it does not have that, or is of a version that does not serve it")

// ask sends a request and reads the answer.
func (p Peer) ask(ctx context.Context, method, path string, body []byte, into any) error {
	response, err := p.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("replica %s: reading its answer: %w", p.Name, err)
	}
	return nil
}

// send sends a request. It returns an error unless the replica of that name has answered it.
func (p Peer) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	response, err := p.sendRequest(ctx, method, path, body)
	if err != nil {
		return nil, fmt.Errorf("replica %s at %s: %w", p.Name, p.Address, err)
	}
	return response, nil
}

func (p Peer) sendRequest(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	if p.Address == "" {
		return nil, errors.New("it does not say in its Lease where it is; it is probably of an earlier version")
	}
	client, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+p.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode == http.StatusNotFound:
		err = errNotFound
	case response.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
		err = fmt.Errorf("it answers %d: %s", response.StatusCode, strings.TrimSpace(string(text)))
	case response.Header.Get(replicaHeader) != p.Name:
		err = fmt.Errorf("replica %s answers in its place", response.Header.Get(replicaHeader))
	default:
		return response, nil
	}
	_ = response.Body.Close()
	return nil, err
}

// follow tells what a peer tells, until ctx ends, the peer is silent for too long, or tell returns an error.
func follow[T memory.Object](ctx context.Context, p Peer, path string, tell func([]T, []types.NamespacedName) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silence, func() { cancel(fmt.Errorf("replica %s has said nothing for %s", p.Name, silence)) })
	defer silent.Stop()
	response, err := p.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return orCause(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	decoder := json.NewDecoder(response.Body)
	var changed []T
	var gone []types.NamespacedName
	for {
		var next message[T]
		if err := decoder.Decode(&next); err != nil {
			return orCause(ctx, fmt.Errorf("replica %s: %w", p.Name, err))
		}
		silent.Reset(silence)
		if next.Alive {
			continue
		}
		changed, gone = append(changed, next.Changed...), append(gone, next.Gone...)
		if next.More {
			continue
		}
		if err := tell(changed, gone); err != nil {
			return err
		}
		changed, gone = nil, nil
	}
}

// orCause returns why ctx has ended, or the error if it has not.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
