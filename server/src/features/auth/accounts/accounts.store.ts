import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Role } from '../../../lib/roles.ts'
import { type Database, statement, type TenantTx } from '../../../platform/db/index.ts'
import { type Tallied, tallyOf } from '../../../platform/throttle/index.ts'
import { type AskedTenant, isAskedFor } from '../../tenants/index.ts'
import '../sessions/sessions.table.ts'

export interface Account {
  id: number
  tenant_id: number
  email: string
  full_name: string
  role: Role
  /** Null for an invited user who has not chosen a password yet. */
  password_hash: string | null
  is_active: boolean
  email_verified: boolean
  /** True if an administrator entered the e-mail address. */
  is_vouched: boolean
  totp_enabled: boolean
  tenant_name: string
  tenant_is_active: boolean
  is_demo: boolean
  /** The tenant setting `require_totp`. The query loads only this setting, because the settings can be large. */
  demanded: unknown
  /** The tenant setting `idle_minutes`; null if the tenant uses the default. */
  idle_setting: unknown
}

function accounts(db: Kysely<Database>) {
  return db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select([
      'users.id',
      'users.tenant_id',
      'users.email',
      'users.full_name',
      'users.role',
      'users.password_hash',
      'users.is_active',
      'users.is_vouched',
      'tenants.name as tenant_name',
      'tenants.is_active as tenant_is_active',
      'tenants.is_demo',
      sql<unknown>`tenants.settings -> 'require_totp'`.as('demanded'),
      sql<unknown>`tenants.settings -> 'idle_minutes'`.as('idle_setting'),
      sql<boolean>`users.email_verified_at is not null`.as('email_verified'),
      sql<boolean>`users.totp_enabled_at is not null`.as('totp_enabled'),
    ])
    .where('tenants.deleted_at', 'is', null)
}

/** The maximum number of accounts that a sign-in without a tenant tries. */
export const MAX_CANDIDATES = 3

export type Candidate = Account & {
  /** True if the user recently used a session that was started from the caller's network. */
  is_known: boolean
  /** The failed sign-ins that were counted for this account at the caller's network. */
  own: Tallied
}

/**
 * Finds the accounts with an e-mail address, in the order in which sign-in tries them. Accounts that may sign in come
 * first, then confirmed addresses, then accounts created by an administrator. Real clinics come before demos, and older
 * accounts before newer ones. With this order, a stranger who later creates an account with the same address cannot
 * displace the owner's account.
 * @param email folded (`lib/email.ts`)
 * @param tenant the requested tenant; undefined for all tenants
 */
function named(
  db: Kysely<Database>,
  email: string | RawBuilder<string>,
  tenant: Parameters<typeof isAskedFor>[0] | undefined,
) {
  const all = accounts(db)
    .where(sql<boolean>`lower(users.email collate "C") = ${email}`)
    .orderBy(sql`users.is_active and tenants.is_active`, 'desc')
    .orderBy(sql`users.email_verified_at is not null`, 'desc')
    .orderBy('users.is_vouched', 'desc')
    .orderBy('tenants.is_demo')
    .orderBy('users.id')
    .limit(MAX_CANDIDATES)
  return tenant ? all.where(isAskedFor(tenant)) : all
}

/** Finds the accounts with this folded address: confirmed ones, or unconfirmed ones with a password. */
export function findAccounts(
  tx: TenantTx,
  email: string,
  tenant: AskedTenant | undefined,
  { confirmed }: { confirmed: boolean },
): Promise<Account[]> {
  const found = named(tx.db, email, tenant)
  return confirmed
    ? found.where('users.email_verified_at', 'is not', null).execute()
    : found
        .where('users.email_verified_at', 'is', null)
        .where('users.password_hash', 'is not', null)
        .execute()
}

interface Asking {
  email: string
  subdomain: string
  network: string
  /**
   * A point in time (ISO 8601). An account is known at the network if a session that started there was used after this
   * time.
   */
  since: string
  now: string
  /** The key prefix of the failure counters for known accounts at this network. The account id follows the prefix. */
  own: Buffer
}

const asking = (tenant: 'named' | 'only' | 'any') =>
  statement<Asking>((value, db) => {
    const asked = {
      named: { subdomain: value('subdomain') },
      only: 'only',
      any: undefined,
    } as const
    const ofUser = sql`s.tenant_id = users.tenant_id and s.user_id = users.id`
    return named(db, value('email'), asked[tenant]).select([
      sql<boolean>`exists (select from sessions s where ${ofUser}
        and s.signed_in_from = ${value('network')} and s.last_used_at > ${value('since')})`.as(
        'is_known',
      ),
      tallyOf(value('own'), sql`users.id::text`, value('now')).as('own'),
    ])
  })
const askingBy = { named: asking('named'), only: asking('only'), any: asking('any') }

/**
 * Finds accounts by address, with the data that sign-in needs about the caller's network. Sends the query without
 * waiting for earlier queries of the transaction.
 */
export function findCandidates(
  tx: TenantTx,
  tenant: AskedTenant | undefined,
  of: Omit<Asking, 'subdomain'>,
): Promise<Candidate[]> {
  if (!tenant || tenant === 'only')
    return tx.sendFor<Candidate>(askingBy[tenant ?? 'any']({ ...of, subdomain: '' })).rows
  return tx.sendFor<Candidate>(askingBy.named({ ...of, ...tenant })).rows
}

export interface AccountKey {
  id: number
  tenant_id: number
}

const accountOf = (tx: TenantTx, { id, tenant_id }: AccountKey) =>
  accounts(tx.db).where('users.tenant_id', '=', tenant_id).where('users.id', '=', id)

export const findAccount = (tx: TenantTx, user: AccountKey): Promise<Account | undefined> =>
  accountOf(tx, user).executeTakeFirst()

/** Finds an account like `findAccount`. Locks its row until the transaction ends. */
export const lockAccount = (tx: TenantTx, user: AccountKey): Promise<Account | undefined> =>
  accountOf(tx, user).forUpdate('users').executeTakeFirst()

/** Makes the commit return before the write to disk, so that its duration reveals nothing. A crash may lose it. */
export async function commitUnwaited(tx: TenantTx): Promise<void> {
  await sql`set local synchronous_commit to off`.execute(tx.db)
}
