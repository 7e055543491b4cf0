/** The groups of operations in the OpenAPI document, in the order in which a new user needs them. */
export const TAGS = {
  'Sign-in': 'Sign in, refresh tokens, and end sessions.',
  Accounts: 'Register an account, confirm an e-mail address, and recover a password.',
  'Second factor': 'Set up, require and remove time-based one-time passwords.',
  Profile: "The caller's own profile, password and preferences.",
  Console: 'The session of the web console, kept in a cookie.',
  Users: 'Create, invite, change, block and delete users.',
  Departments: 'The departments of a tenant and their head doctors.',
  Tenants: 'Create tenants and change their settings.',
  Patients: 'Encrypted patient records, break-glass access, and who has seen a record.',
  Audit: 'Search the audit log.',
  Webhooks: 'Register receivers, inspect deliveries, and replay events.',
  Messenger: 'Link a chat and choose which events it is notified of.',
  Payments: 'Payments and the notifications they were derived from.',
  'Payment notifications': 'Endpoints that the payment providers call.',
  Backups: 'Create, download, restore and delete backups.',
  Jobs: 'The progress of long jobs, such as backups and replays, and their cancellation.',
  Encryption: 'Rotate the encryption keys.',
  Cache: 'Inspect and clear the patient cache.',
  'Self-healing': 'Known faults, and repairs to confirm.',
  Health: 'Liveness, readiness, and the state of every component.',
} as const satisfies Record<string, string>

export type Tag = keyof typeof TAGS
