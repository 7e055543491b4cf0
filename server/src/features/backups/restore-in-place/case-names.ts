/**
 * The names of the records in a restore's result. The stored result of a restore has none, so that it keeps no name of a
 * person who is deleted later.
 */
import type { TenantTx } from '../../../platform/db/index.ts'
import { findNames } from '../../audit/index.ts'
import type { AccessCase, RestoreResult } from './outcome.ts'

/** The types of records whose access a restore may keep, by table. */
const TYPES: Readonly<Record<string, string>> = {
  users: 'user',
  tenants: 'tenant',
  webhooks: 'webhook',
}

/** Adds the current names to the records that have none. Deleted records get no name. */
export async function addCaseNames(tx: TenantTx, result: RestoreResult): Promise<RestoreResult> {
  const { cases } = result.access
  const typeOf = ({ table }: AccessCase) => TYPES[table] ?? table
  const unnamed = cases.filter(({ name }) => !name)
  const nameOf = await findNames(
    tx,
    unnamed.map((one) => ({ type: typeOf(one), id: one.id })),
  )
  const named = cases.map((one) => ({ ...one, name: one.name ?? nameOf(typeOf(one), one.id) }))
  return { ...result, access: { ...result.access, cases: named } }
}
