/** The settings of the embedded server: durable, for a single machine, without patient data in the log. */

export const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '60',
  shared_buffers: '128MB',
  min_wal_size: '80MB',
  max_wal_size: '512MB',
  // JIT compilation only pays off for long analytical queries, which this service does not run.
  jit: 'off',
  timezone: 'UTC',
  // Sets these defaults explicitly, so that an edited postgresql.conf cannot cause the loss of an acknowledged change.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // Keeps failed statements, which contain patient data, out of the log. "log" ranks above "error", so own events stay.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
}
