/** The server's settings: one clinic on one machine, durable, and a log without anything about patients. */

/** What the server runs with unless `startEmbedded` is told otherwise. */
export const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '60',
  shared_buffers: '128MB',
  min_wal_size: '80MB',
  max_wal_size: '512MB',
  // Compiling pays for long analytical queries, which this service has none of.
  jit: 'off',
  timezone: 'UTC',
  // Named although they are the defaults: no edit of postgresql.conf may lose an acknowledged change.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // The service logs failed statements itself; here their messages, details and parameters would
  // repeat what patients' rows hold. "log" is above "error": the server's own events stay.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
}
