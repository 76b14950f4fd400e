// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

const (
	// StorageLabel is the label of the Lease that holds the storage ID. Only processes with this storage may hold the
	// Lease.
	StorageLabel = "metacontroller.k8s.io/storage"
	// AddressAnnotation is the annotation of the Lease with the address at which the process that holds it serves the
	// API.
	AddressAnnotation = "metacontroller.k8s.io/address"
)

type lease = coordinationv1.Lease

// leases is the client through which client-go reads and writes the Lease.
type leases struct {
	coordinationclient.LeaseInterface
	election *Election
	identity string
}

// Leases implements coordinationclient.LeasesGetter.
func (l *leases) Leases(string) coordinationclient.LeaseInterface { return l }

// Get reads the Lease. It returns an error if the Lease is of another storage.
func (l *leases) Get(ctx context.Context, name string, options metav1.GetOptions) (*lease, error) {
	found, err := l.LeaseInterface.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return found, l.election.see(found, l.identity)
}

// Create creates the Lease.
func (l *leases) Create(ctx context.Context, of *lease, options metav1.CreateOptions) (*lease, error) {
	return l.write(ctx, of, func() (*lease, error) { return l.LeaseInterface.Create(ctx, of, options) })
}

// Update takes, renews or releases the Lease.
func (l *leases) Update(ctx context.Context, of *lease, options metav1.UpdateOptions) (*lease, error) {
	return l.write(ctx, of, func() (*lease, error) { return l.LeaseInterface.Update(ctx, of, options) })
}

// errLedMeanwhile is the error of a renewal after another process has led. The term has ended, and the process may
// be elected again.
var errLedMeanwhile = errors.New("another process has become the leader")

func (l *leases) write(ctx context.Context, of *lease, send func() (*lease, error)) (*lease, error) {
	if of.Annotations == nil {
		of.Annotations = map[string]string{}
	}
	of.Annotations[AddressAnnotation] = l.election.config.Address
	term, transitions := l.election.currentTerm(), ptr.Deref(of.Spec.LeaseTransitions, 0)
	switch {
	case ptr.Deref(of.Spec.HolderIdentity, "") == "":
		delete(of.Annotations, AddressAnnotation)
		if err := l.election.endWork(ctx); err != nil {
			return nil, err
		}
		return send()
	case term != nil && (term.transitions != transitions || term.over.Err() != nil):
		term.giveUp()
		return nil, errLedMeanwhile
	}
	sent := time.Now()
	written, err := send()
	if err != nil {
		return nil, err
	}
	if term != nil {
		term.renew(sent)
		return written, nil
	}
	l.election.begin(newTerm(transitions, sent))
	return written, nil
}

// foreign returns why a process with a storage must not take a Lease; nil if it may.
func foreign(found *lease, storage string) error {
	of := found.Labels[StorageLabel]
	if of == "" || of == storage {
		return nil
	}
	holder := ptr.Deref(found.Spec.HolderIdentity, "")
	if holder == "" {
		holder = "no process at the moment"
	}
	return fmt.Errorf("this server runs no controllers: its storage is %s, and the Lease %s/%s belongs to storage %s "+
		"(held by %s), so two servers would store different objects; stop this server if the other storage is the right "+
		"one (scale a StatefulSet to 1), or stop the other server and delete that Lease",
		storage, found.Namespace, found.Name, of, holder)
}
