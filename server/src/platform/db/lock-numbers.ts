/**
 * Numbers of the PostgreSQL advisory locks that this service takes. All are listed here, because two locks with one
 * number would block each other. The migrations use two of the numbers in SQL; a test compares them.
 */
export const LOCKS = {
  /** One node at a time migrates. */
  migrations: 7_261_935,
  /** One session at a time creates the journal's next partitions (0005, in SQL). */
  journalPartitions: 7_261_936,
  /** One node at a time sets up an empty database. */
  setup: 7_261_937,
  /** One transaction at a time removes a superadmin or a superadmin's tenant. */
  operators: 7_261_938,
  /** One session at a time creates the daily partitions of webhook deliveries (0008, in SQL). */
  deliveryPartitions: 7_261_939,
  /** One transaction at a time adds an unverified notification, so that the limit on their number holds. */
  unverifiedNotifications: 7_261_940,
  /** One transaction at a time starts or ends a key rotation. */
  keyRotation: 7_261_943,
  /** One schema repair at a time runs, on any node. */
  schemaRepair: 7_261_949,
  /** With the number of a long-running job. Held while the process that runs the job is alive. */
  longJobs: 7_261_941,
  /** With 0, shared. Held while a process that can start waiting long jobs is alive. */
  longJobTakers: 7_261_950,
  /** With the number of a long read, shared. Held while the process that reads is alive. */
  longReads: 7_261_951,
  /** One transaction at a time deletes stored backups, so that retention sees all other deletions. */
  storeDeletion: 7_261_952,
  /** With a tenant's id, or 0 for all tenants. Held by a restore while the tenant is in maintenance mode. */
  maintenance: 7_261_942,
  /** With the id of a fix, or 0 for a scan of all fixes. Held while the process that detects or repairs is alive. */
  fixes: 7_261_944,
  /** One process at a time identifies the root key, moves its files, or replaces it. */
  rootKey: 7_261_945,
} as const
