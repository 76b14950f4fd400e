// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity tells storages apart. A storage has an ID of its own, in one key next to the objects, together
// with the UID of the namespace kube-system of the cluster whose objects it keeps. Copies and snapshots of a storage
// have the same record, so the ID of a storage that only one process can use depends on where it is, too.
package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// record is the value of the key.
type record struct {
	// ID identifies the storage, and stays the same when the storage is moved.
	ID string `json:"id"`
	// Cluster is the UID of the namespace kube-system.
	Cluster types.UID `json:"cluster"`
}

// Storage is an etcd, or the keys below a prefix of it.
type Storage struct {
	Client clientv3.KV
	// Prefix is the prefix of its keys.
	Prefix string
	// Place is the location of a storage that only one process can use at a time, so a copy has another Place. It is
	// empty if several processes share the storage.
	Place string
}

// Claim returns the ID of a storage that is to keep the objects of a cluster. A storage without a record is given one.
// Claim returns an error if the storage keeps the objects of another cluster, which may still use it. If it cannot,
// the storage has come from there, for example by a snapshot, and is of this cluster from now on.
func (s Storage) Claim(ctx context.Context, cluster types.UID) (id string, err error) {
	for {
		found, version, err := s.read(ctx)
		if err != nil {
			return "", err
		}
		switch {
		case found.Cluster == cluster && found.ID != "":
			return s.id(found), nil
		case found.ID == "":
			found.ID = uuid.NewString()
		case s.Place == "":
			return "", &otherClusterError{key: s.key(), other: found.Cluster, cluster: cluster}
		default:
			klog.FromContext(ctx).Info("The storage belonged to another cluster, and belongs to this cluster from now on",
				"before", found.Cluster, "cluster", cluster)
		}
		found.Cluster = cluster
		if done, err := s.write(ctx, found, version); err != nil || done {
			return s.id(found), err
		}
	}
}

// otherClusterError is the error of a storage that keeps the objects of another cluster.
type otherClusterError struct {
	key            string
	other, cluster types.UID
}

// IsOfOtherCluster reports whether an error is that the storage keeps the objects of another cluster.
func IsOfOtherCluster(err error) bool {
	_, is := errors.AsType[*otherClusterError](err)
	return is
}

func (e *otherClusterError) Error() string {
	return fmt.Sprintf("the storage belongs to another cluster: key %s in etcd records %s as the UID of the namespace "+
		"kube-system, but in this cluster the UID is %s; set another --etcd-prefix for this server, or, if the other "+
		"cluster no longer exists, delete that key",
		e.key, e.other, e.cluster)
}

// id returns the ID of the storage in its place.
func (s Storage) id(of record) string {
	if s.Place == "" {
		return of.ID
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(of.ID+"\n"+s.Place)).String()
}

func (s Storage) key() string { return path.Join("/", s.Prefix, "storage") }

// read returns the record, and the revision that wrote it; zero if there is none.
func (s Storage) read(ctx context.Context) (found record, version int64, err error) {
	answer, err := s.Client.Get(ctx, s.key())
	if err != nil {
		return found, 0, fmt.Errorf("read the identity of the storage: %w", err)
	}
	if len(answer.Kvs) == 0 {
		return found, 0, nil
	}
	if err := json.Unmarshal(answer.Kvs[0].Value, &found); err != nil {
		return found, 0, fmt.Errorf("read the identity of the storage: key %s: %w", s.key(), err)
	}
	if found.ID == "" {
		return found, 0, fmt.Errorf("read the identity of the storage: key %s: %w", s.key(), errors.New("it has no ID"))
	}
	return found, answer.Kvs[0].ModRevision, nil
}

// write replaces the record of a revision. It reports whether it has: another process may have been faster.
func (s Storage) write(ctx context.Context, of record, version int64) (done bool, err error) {
	value, err := json.Marshal(of)
	if err != nil {
		return false, err
	}
	answer, err := s.Client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.key()), "=", version)).
		Then(clientv3.OpPut(s.key(), string(value))).Commit()
	if err != nil {
		return false, fmt.Errorf("write the identity of the storage: %w", err)
	}
	return answer.Succeeded, nil
}
