/** The steps of a restore in place, and the database role of each step. */
import { expect, it, onTestFinished } from 'vitest'
import {
  type RestoreRole,
  setRole,
} from '../../src/features/backups/restore-in-place/transaction.store.ts'
import {
  DRY_RUN_STEPS,
  RESTORE_STEPS,
} from '../../src/features/backups/restore-in-place/transaction.ts'
import { APP_ROLE, ownerClient, PLATFORM_ROLE } from '../../src/platform/db/index.ts'
import { tableOf } from '../docs/documents.ts'
import { migratedDatabase } from '../support/database.ts'

const named = ({ name, role }: { name: string; role: string }) => [name, `\`${role}\``]

it('the README lists the steps of a restore in the order of the code', () => {
  const rows = tableOf('server/src/features/backups/README.md', 'Step')
  expect(rows.map(([name, role]) => [name, role])).toEqual(RESTORE_STEPS.map(named))
})

it('a dry run prepares the staging tables like a real restore', () => {
  const shared = DRY_RUN_STEPS.filter((step) => RESTORE_STEPS.includes(step))
  expect(shared.map(({ name }) => name)).toEqual(['exclude purged records', 'narrow access'])
})

it('a restore switches between the database roles within one transaction, and commits as the owner', async () => {
  const { address } = await migratedDatabase()
  const client = ownerClient(address)
  await client.connect()
  onTestFinished(() => client.end())
  const roleOf = async () => {
    const { rows } = await client.query<{ role: string; tenant: string }>(
      `select current_user as role, current_setting('wardkeep.tenant_id', true) as tenant`,
    )
    return rows[0]
  }
  const roleAs = async (role: RestoreRole, tenantId: number | null) => {
    await setRole(client, role, tenantId)
    return roleOf()
  }
  const owner = await roleOf()
  await client.query('begin')
  expect(await roleAs('platform', 7)).toMatchObject({ role: PLATFORM_ROLE })
  expect(await roleAs('scope', 7)).toEqual({ role: APP_ROLE, tenant: '7' })
  expect(await roleAs('owner', 7)).toMatchObject({ role: owner?.role })
  expect(await roleAs('scope', null)).toMatchObject({ role: PLATFORM_ROLE })
  await client.query('commit')
  expect(await roleOf()).toMatchObject({ role: owner?.role })
})
