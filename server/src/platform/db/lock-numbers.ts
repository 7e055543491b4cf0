/** Numbers of all advisory locks, because equal numbers would block each other. A test compares those in migrations. */
export const LOCKS = {
  migrations: 7_261_935,
  /** Only one session at a time may create the journal's next partitions (0005, in SQL). */
  journalPartitions: 7_261_936,
  setup: 7_261_937,
  /** Only one transaction at a time may remove a superadmin or a superadmin's tenant. */
  operators: 7_261_938,
  /** Only one session at a time may create the daily partitions of webhook deliveries (0008, in SQL). */
  deliveryPartitions: 7_261_939,
  /** Only one transaction at a time may add an unverified notification, so that their number keeps its limit. */
  unverifiedNotifications: 7_261_940,
  /** Only one transaction at a time may start or end a key rotation. */
  keyRotation: 7_261_943,
  /** Only one schema repair at a time may run, on any node. */
  schemaRepair: 7_261_949,
  /** With the number of a long-running job. Held as long as the process that runs the job is alive. */
  longJobs: 7_261_941,
  /** With 0, shared. Held as long as a process that can start waiting long jobs is alive. */
  longJobTakers: 7_261_950,
  /** With the number of a long read, shared. Held as long as the process that reads is alive. */
  longReads: 7_261_951,
  /** Only one transaction at a time may delete stored backups. Retention then sees all other deletions. */
  storeDeletion: 7_261_952,
  /** Only one transaction at a time may start a test restore on request. */
  drillStart: 7_261_953,
  /** With a tenant's id, or 0 for all tenants. Held by a restore while the tenant is in maintenance mode. */
  maintenance: 7_261_942,
  /** With the id of a fix, or 0 for a scan of all. Held while the process that detects or repairs is alive. */
  fixes: 7_261_944,
  /** Only one process at a time may identify the root key, move its files, or replace it. */
  rootKey: 7_261_945,
  /** Only one transaction at a time may start a job of which no two run at the same time. */
  singleJobs: 7_261_954,
  /** Only one transaction at a time may create or rotate the key of the audit logs. */
  auditKey: 7_261_955,
  /** Only one process at a time may verify audit logs in the background. */
  auditVerification: 7_261_956,
} as const
