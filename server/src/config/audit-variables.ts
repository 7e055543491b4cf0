import { readWitnessKey } from '../lib/merkle/cosignature.ts'
import type { NoteVerifier } from '../lib/signed-note.ts'
import { listIn, variable } from './variable.ts'

export const AUDIT_VARIABLES = {
  AUDIT_ARCHIVE_DIR: variable({
    meaning:
      'Folder for the audit log entries that are past the retention of their tenant. Several nodes must share one folder.',
    default: '`audit-archive` in DATA_DIR',
    read: (text) => text,
  }),
  AUDIT_WITNESSES: variable({
    meaning:
      'Witnesses that confirm the audit log (C2SP tlog-witness), separated by commas. Each one is its https URL, a blank and its verifier key.',
    default: 'none',
    read: (text) => witnessesIn(text ?? ''),
  }),
}

/** The shortest retention of the audit log in days (decisions §4). */
export const SHORTEST_RETENTION_DAYS = 90

/**
 * Returns the shortest retention of the audit log in days. It is longer than that of webhook deliveries, because a replay
 * reads the journal. @param webhookDays `WEBHOOK_RETENTION_DAYS`
 */
export const minRetentionDays = (webhookDays: number): number =>
  Math.max(SHORTEST_RETENTION_DAYS, webhookDays + 1)

export interface ConfiguredWitness {
  /** The prefix below which heads are submitted. */
  url: URL
  /** The verifier key as text. */
  key: string
  verifier: NoteVerifier
}

/** @throws Error with a line for each faulty entry */
function witnessesIn(text: string): ConfiguredWitness[] {
  const faults: string[] = []
  const keys: string[] = []
  const witnesses = listIn(text).flatMap((entry, at) => {
    try {
      const witness = witnessOf(entry)
      const same = keys.indexOf(witness.key)
      if (same >= 0) throw new Error(`has the key of entry ${same + 1}`)
      keys[at] = witness.key
      return [witness]
    } catch (error) {
      faults.push(`entry ${at + 1} ${(error as Error).message}`)
      return []
    }
  })
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return witnesses
}

function witnessOf(entry: string): ConfiguredWitness {
  const [, address = '', key = ''] = /^(\S+)\s+(\S+)$/.exec(entry) ?? []
  if (key === '') throw new Error('must be the URL of a witness, a blank and its verifier key')
  const url = URL.parse(address)
  if (url?.protocol !== 'https:') throw new Error('must begin with an https URL')
  if (url.username !== '' || url.password !== '')
    throw new Error('must have a URL without a user and a password')
  if (url.search !== '' || /[?#]/.test(address))
    throw new Error('must have a URL without a query string and a fragment')
  const verifier = readWitnessKey(key)
  if (!verifier)
    throw new Error('must end with the verifier key of a witness (vkey of the type cosignature/v1)')
  return { url, key, verifier }
}
