/** The names of components. */
export const componentNames: Readonly<Record<string, string>> = {
  database: 'Database',
  clock: 'Clock',
  changes: 'Change notices',
  replica: 'Database replica',
  journal: 'Journal readers',
  audit_retention: 'Retention of the audit log',
  audit_witnesses: 'Witnesses of the audit log',
  outbound: 'Outgoing messages',
  messenger: 'Messenger',
  payments: 'Payments',
  paygate: 'Paygate',
  backups: 'Backups',
  self_healing: 'Self-healing',
  audit_log: 'Audit log',
}
