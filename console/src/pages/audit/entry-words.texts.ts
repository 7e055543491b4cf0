/** Texts for entries of the audit log. */
export const entryTexts = {
  service: 'the service',
  notSignedIn: 'Not signed in',
  person: (id: number) => `User ${id}`,
  record: (type: string, id: string) => `${type} ${id}`,
  tested: 'A test restored a backup completely',
  fileVerified: 'The file of a backup was verified',
  by: (who: string, time: string) => `by ${who}, ${time}`,
}

/** The kinds of records in words. */
export const resourceTypeNames: Readonly<Record<string, string>> = {
  audit_key: 'Key of the audit log',
  audit_log: 'Audit log',
  backup: 'Backup',
  database: 'Database',
  department: 'Department',
  encryption: 'Encryption',
  fix: 'Repair',
  installation: 'Installation',
  job: 'Job',
  operation: 'Operation',
  patient: 'Patient',
  payment: 'Payment',
  payment_notification: 'Payment notification',
  preferences: 'Preferences',
  session: 'Session',
  signing_key: 'Signing key',
  tenant: 'Clinic',
  user: 'User',
  webhook: 'Webhook',
}

/** The groups of actions in words. */
export const actionGroupNames: Readonly<Record<string, string>> = {
  tenant: 'Clinic',
  job: 'Jobs',
  outbound: 'Outgoing messages',
  database: 'Database',
  department: 'Departments',
  user: 'Users',
  auth: 'Sign-in and sessions',
  access: 'Refused requests',
  audit: 'Audit log',
  preferences: 'Preferences',
  messenger: 'Messenger',
  webhook: 'Webhooks',
  payment: 'Payments',
  patient: 'Patients',
  payment_notification: 'Payment notifications',
  backup: 'Backups',
  encryption: 'Encryption',
  self_healing: 'Self-healing',
}
