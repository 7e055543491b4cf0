import { formatCount, formatNumber } from '../../words/numbers.ts'

/** Texts of the page "Health". */
export const healthTexts = {
  title: 'Health',
  components: 'Parts of the service',
  allOk: 'All systems OK',
  attention: (count: number) => formatCount(count, 'part needs attention', 'parts need attention'),
  part: 'Part',
  state: 'State',
  why: 'Why',
  since: 'Since',
  help: 'What to do',
  runbook: (page: string) => `Follow the runbook ${page}`,
  nothing: 'There is no runbook for this. Look in the log of the service.',
  unknown: 'unknown',
  service: 'Service',
  version: 'Version',
  uptime: 'Running for',
  uptimeNote: 'The node that answered this request',
  database: 'Database',
  embedded: 'embedded',
  latency: 'Response time',
  milliseconds: (value: number) => `${formatNumber(value)} ms`,
  clinics: 'Clinics',
  people: 'Users',
  patients: 'Patients',
  encryption: 'Encryption',
  encrypted: 'On',
  unencrypted: 'Off',
}

/** The work of each part, in one sentence. */
export const componentWork: Readonly<Record<string, string>> = {
  database: 'Keeps all data of the clinics.',
  clock: 'The time of this node, compared with the database.',
  changes: 'Notifies each node within a second of changes on other nodes.',
  replica: 'A copy of the database, from which backups and exports read.',
  audit_retention: 'Archives and removes old entries of the audit log.',
  audit_witnesses: 'Other parties that confirm that the audit log only grows.',
  journal: 'Passes entries of the audit log on to webhooks and the messenger.',
  outbound: 'Sends mails, webhooks and messages.',
  messenger: 'The chat bot that notifies people.',
  payments: 'Applies the notifications of payment providers.',
  paygate: 'The connection to the API of paygate.',
  backups: 'Makes backups and verifies them.',
  self_healing: 'Looks for faults and repairs them.',
  audit_log: 'Verifies that no entry of the audit log was altered.',
}
