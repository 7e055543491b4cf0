/** The SQL of finding who signs in. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Role } from '../../../lib/roles.ts'
import { type Database, statement, type TenantTx } from '../../../platform/db/index.ts'
import { type Tallied, tallyOf } from '../../../platform/throttle/index.ts'
import { type AskedTenant, isAskedFor } from '../../tenants/index.ts'
import '../sessions/sessions.table.ts'

/** An account as sign-in judges it. */
export interface Account {
  id: number
  tenant_id: number
  email: string
  full_name: string
  role: Role
  /** Null while an invited user has not chosen a password. */
  password_hash: string | null
  is_active: boolean
  email_verified: boolean
  /** An administrator entered the address. */
  is_vouched: boolean
  totp_enabled: boolean
  tenant_name: string
  tenant_is_active: boolean
  is_demo: boolean
  /** The tenant's setting `require_totp`; its settings as a whole may be long, and nothing else is asked. */
  demanded: unknown
  /** The tenant's setting `idle_minutes`; null for the default. */
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

/** Accounts that are tried where no tenant is named. */
export const MAX_CANDIDATES = 3

/** An account that a sign-in may mean. */
export type Candidate = Account & {
  /** Whether its user has lately used a session that they began from the caller's network. */
  is_known: boolean
  /** How the count stands that is its own. */
  own: Tallied
}

/**
 * The accounts of an address, in the order in which their passwords are tried: those that may sign in
 * before those that may not, then confirmed ones, then those that an administrator made, then those of real clinics,
 * then the oldest. So nobody who makes an account of the same address later can take a place away from its owner.
 * @param email folded (`lib/email.ts`)
 * @param tenant the tenant that is asked for; all without
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

/**
 * Finds the accounts whose address is confirmed, or those that have a password and an address to confirm.
 * @param email folded
 */
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
  /** Where the caller is. */
  network: string
  /** Since when a session from there makes an account known. */
  since: string
  now: string
  /** What the account's own count is spelled with, before its id. */
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

/** As `findAccounts`, with what else a sign-in from `network` asks of them; the question is sent at once. */
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

/** As `findAccount`, locked until the transaction ends. */
export const lockAccount = (tx: TenantTx, user: AccountKey): Promise<Account | undefined> =>
  accountOf(tx, user).forUpdate('users').executeTakeFirst()

/** Lets the transaction's commit not wait for the disk: a crash may lose it, and its time tells nothing. */
export async function commitUnwaited(tx: TenantTx): Promise<void> {
  await sql`set local synchronous_commit to off`.execute(tx.db)
}
