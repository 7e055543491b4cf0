import type { BulkAct } from './bulk-labels.texts.ts'
import type { User } from './data.ts'

/** A requested change of several users, with the users who were selected at that time. */
export interface AskedBulk {
  readonly number: number
  readonly act: BulkAct
  readonly users: readonly User[]
}
