/** Leases: work that at most one process of the cluster does at a time. */
export {
  keepLease,
  LEASE_SECONDS,
  type Lease,
  type LeasedWork,
  type LeaseRow,
  type Tenure,
  TenureOver,
} from './lease.ts'
