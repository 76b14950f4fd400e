// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// storageIdentity reads the ID of the storage, and checks that the storage belongs to the cluster.
//
// A storage has an ID of its own, in one key next to the objects, together with the UID of the namespace kube-system of
// the cluster whose objects it keeps. Copies and snapshots of a storage have the same record, so the ID of a storage
// that only one process can use also depends on its location.
type storageIdentity struct {
	host    kubernetes.Interface
	storage storagebackend.Config
	// place is the directory of the embedded etcd; empty for an external one.
	place string
}

// claim returns the ID. The error may be that the storage is of another cluster.
func (i *storageIdentity) claim(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hostRequestTimeout)
	defer cancel()
	system, err := i.host.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err == nil && system.UID == "" {
		err = errors.New("it has no UID")
	}
	if err != nil {
		return "", fmt.Errorf("read namespace %s, whose UID identifies the cluster: %w", metav1.NamespaceSystem, err)
	}
	client, closeClient, err := etcdClient(ctx, i.storage)
	if err != nil {
		return "", err
	}
	defer closeClient()
	return keyspace{client: client, prefix: i.storage.Prefix, place: i.place}.claim(ctx, system.UID)
}

// claimRetryPeriod is the time after which a claim that failed is tried again.
const claimRetryPeriod = time.Second

// await returns the ID when it is known, or if ctx ends. It returns an error if the storage is of another cluster.
// It calls report with the reason while the ID is not known.
func (i *storageIdentity) await(ctx context.Context, report func(error)) (id string, err error) {
	logged := ""
	err = wait.PollUntilContextCancel(ctx, claimRetryPeriod, true, func(ctx context.Context) (bool, error) {
		var err error
		id, err = i.claim(ctx)
		if isOfOtherCluster(err) {
			return false, err
		}
		if err != nil {
			report(err)
		}
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			klog.FromContext(ctx).Error(err, "No controllers run until the server knows to which cluster the storage belongs")
		}
		return err == nil, nil
	})
	if ctx.Err() != nil {
		return "", nil
	}
	return id, err
}

// keyspace has the keys of the storage in an etcd.
type keyspace struct {
	client clientv3.KV
	// prefix is the prefix of the keys.
	prefix string
	// place is the location of a storage that only one process can use at a time, so a copy has another place. It is
	// empty if several processes share the storage.
	place string
}

// claim returns the ID of a storage that is to keep the objects of a cluster. A storage without a record is given one.
// claim returns an error if the storage keeps the objects of another cluster, which may still use it. If it cannot,
// the storage has come from there, for example by a snapshot, and is of this cluster from now on.
func (k keyspace) claim(ctx context.Context, cluster types.UID) (id string, err error) {
	for {
		found, version, err := k.read(ctx)
		if err != nil {
			return "", err
		}
		switch {
		case found.Cluster == cluster && found.ID != "":
			return k.id(found), nil
		case found.ID == "":
			found.ID = uuid.NewString()
		case k.place == "":
			return "", &otherClusterError{key: k.key(), other: found.Cluster, cluster: cluster}
		default:
			klog.FromContext(ctx).Info("The storage belonged to another cluster, and belongs to this cluster from now on",
				"before", found.Cluster, "cluster", cluster)
		}
		found.Cluster = cluster
		if done, err := k.write(ctx, found, version); err != nil || done {
			return k.id(found), err
		}
	}
}

// otherClusterError is the error of a storage that keeps the objects of another cluster.
type otherClusterError struct {
	key            string
	other, cluster types.UID
}

// isOfOtherCluster reports whether an error is that the storage keeps the objects of another cluster.
func isOfOtherCluster(err error) bool {
	_, is := errors.AsType[*otherClusterError](err)
	return is
}

func (e *otherClusterError) Error() string {
	return fmt.Sprintf("the storage belongs to another cluster: key %s in etcd records %s as the UID of the namespace "+
		"kube-system, but in this cluster the UID is %s; set another --etcd-prefix for this server, or, if the other "+
		"cluster no longer exists, delete that key",
		e.key, e.other, e.cluster)
}

// storageRecord is the value of the key, in JSON.
type storageRecord struct {
	// ID identifies the storage, and stays the same when the storage is moved.
	ID string `json:"id"`
	// Cluster is the UID of the namespace kube-system.
	Cluster types.UID `json:"cluster"`
}

// id returns the ID of the storage in its place.
func (k keyspace) id(of storageRecord) string {
	if k.place == "" {
		return of.ID
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(of.ID+"\n"+k.place)).String()
}

func (k keyspace) key() string { return path.Join("/", k.prefix, "storage") }

// read returns the record, and the revision that wrote it; zero if there is none.
func (k keyspace) read(ctx context.Context) (found storageRecord, version int64, err error) {
	answer, err := k.client.Get(ctx, k.key())
	if err != nil {
		return found, 0, fmt.Errorf("read the identity of the storage: %w", err)
	}
	if len(answer.Kvs) == 0 {
		return found, 0, nil
	}
	if err := json.Unmarshal(answer.Kvs[0].Value, &found); err != nil {
		return found, 0, fmt.Errorf("read the identity of the storage: key %s: %w", k.key(), err)
	}
	if found.ID == "" {
		return found, 0, fmt.Errorf("read the identity of the storage: key %s: %w", k.key(), errors.New("it has no ID"))
	}
	return found, answer.Kvs[0].ModRevision, nil
}

// write replaces the record of a revision. It reports whether it has: another process may have been faster.
func (k keyspace) write(ctx context.Context, of storageRecord, version int64) (done bool, err error) {
	value, err := json.Marshal(of)
	if err != nil {
		return false, err
	}
	answer, err := k.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(k.key()), "=", version)).
		Then(clientv3.OpPut(k.key(), string(value))).Commit()
	if err != nil {
		return false, fmt.Errorf("write the identity of the storage: %w", err)
	}
	return answer.Succeeded, nil
}

// etcdClient returns a client of the etcd that objects are stored in, and the function that closes it.
func etcdClient(
	ctx context.Context, storage storagebackend.Config,
) (_ *clientv3.Client, closeClient func(), err error) {
	var config *tls.Config
	if of := storage.Transport; of.TrustedCAFile != "" || of.CertFile != "" {
		info := transport.TLSInfo{TrustedCAFile: of.TrustedCAFile, CertFile: of.CertFile, KeyFile: of.KeyFile}
		if config, err = info.ClientConfig(); err != nil {
			return nil, nil, fmt.Errorf("read the certificates for etcd: %w", err)
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: storage.Transport.ServerList, TLS: config,
		Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, fmt.Errorf("create a client for etcd: %w", err)
	}
	return client, func() {
		if err := client.Close(); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to close the connections to etcd")
		}
	}, nil
}
