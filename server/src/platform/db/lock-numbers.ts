/**
 * PostgreSQL's advisory locks that this service takes by a number: all of them, as two with one number
 * would wait for each other. The migrations hold two of them in SQL; a test compares.
 */
export const LOCKS = {
  /** One node at a time migrates. */
  migrations: 7_261_935,
  /** One session at a time makes the journal's next partitions (0005, in SQL). */
  journalPartitions: 7_261_936,
  /** One node at a time sets up what an empty database lacks. */
  setup: 7_261_937,
  /** One transaction at a time takes away a superadmin, or the tenant of one. */
  operators: 7_261_938,
  /** One session at a time makes the days of webhooks' deliveries (0008, in SQL). */
  deliveryPartitions: 7_261_939,
  /** One transaction at a time adds notifications that nobody has proven: there is a bound to them. */
  unverifiedNotifications: 7_261_940,
  /** One transaction at a time begins or ends a rotation of keys. */
  keyRotation: 7_261_943,
  /** One repair at a time works with the rights of the tables' owner. */
  schemaRepair: 7_261_949,
  /** With the number of a job that outlasts every lease: its process is at work, and lives. */
  longJobs: 7_261_941,
  /** With 0, shared: a process takes the long jobs that wait, and lives. */
  longJobTakers: 7_261_950,
  /** With a number of what is read for long, shared: a process reads it, and lives. */
  longReads: 7_261_951,
  /** One transaction at a time deletes from the store, so that retention sees what else there is. */
  storeDeletion: 7_261_952,
  /** With the id of a tenant, or 0 for all: a restore has closed the service for them. */
  closed: 7_261_942,
  /** With the id of a fix, or 0 for a scan of all: a process looks and mends, and lives. */
  fixes: 7_261_944,
  /** One process at a time asks which root key it is, moves its files, or puts another in its place. */
  rootKey: 7_261_945,
} as const
