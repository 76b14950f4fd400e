// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"k8s.io/klog/v2"
)

// divide divides the volume of the data directory. It logs when a quota that was asked for does not
// fit. A volume that cannot be measured has the largest quota, and no reserve.
func (s *Server) divide(dataDir string, askedQuota int64) *gate {
	sizing := s.measureSizing(dataDir)
	if asked := askedQuota; asked > 0 {
		if sizing.space > 0 && need(asked) > sizing.space {
			s.logger.Error(nil, "Quota does not fit the volume: the database, a second copy of it for defragmentation and the log "+
				"need more than there is. Writes will be refused when the volume is nearly full, and the database may be too large "+
				"to be defragmented then. Lower --etcd-quota-backend-bytes, set it to 0 to have it follow the volume, or enlarge the volume",
				"dataDir", dataDir, "quota", bytesText(asked), "needs", bytesText(need(asked)), "has", bytesText(sizing.space),
				"fittingQuota", bytesText(sizing.quota))
		}
		sizing.quota = asked
	} else if sizing.space > 0 && need(sizing.quota) > sizing.space {
		s.logger.Error(nil, "Volume is very small: enlarge it", "dataDir", dataDir, "needs", bytesText(need(minQuotaBytes)),
			"has", bytesText(sizing.space))
	}
	return newGate(dataDir, sizing, newReserve(dataDir, sizing.reserve))
}

func (s *Server) measureSizing(dataDir string) sizing {
	space, err := measureVolume(dataDir)
	if err != nil {
		s.logger.Error(err, "Size of the volume is unknown: the quota of the storage does not follow it", "dataDir", dataDir)
		return sizing{quota: maxQuotaBytes}
	}
	return sizingFor(space.size)
}

// makeRoom gives the reserve back if etcd could not start without it.
func makeRoom(logger klog.Logger, gate *gate) error {
	space, err := measureVolume(gate.dataDir)
	if err != nil || space.available >= gate.sizing.floor || !gate.reserve.held.Load() {
		return nil //nolint:nilerr // what cannot be measured has no reserve
	}
	logger.Info("The volume of the storage is full: its reserve is used for the start", "dataDir", gate.dataDir,
		"left", bytesText(space.available), "reserve", bytesText(gate.reserve.size))
	return gate.reserve.giveBack()
}
