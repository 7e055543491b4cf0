/** Signing in: finds the account, checks the password, starts a session (decisions §3). */

import type { Clock } from '../../../lib/clock.ts'
import { Problem, type ProblemCode } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Passwords } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append } from '../../../platform/journal/index.ts'
import { findOnlyTenant, findTenantBySubdomain } from '../../tenants/index.ts'
import type { Credentials, TokenResponse } from '../auth.schema.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import * as store from './accounts.store.ts'

export interface SignInDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  /** The host part of the public address: what stands before it in `Host` is a subdomain. */
  publicHost: string
  /** Whether there is only one tenant besides the platform's. */
  singleTenant: boolean
}

export interface SignIn {
  /** @throws Problem 401 for wrong anything, 403 for a blocked account or tenant */
  login(credentials: Credentials, host: string, origin: Origin): Promise<TokenResponse>
}

export function signInService(deps: SignInDeps): SignIn {
  const { db, clock, passwords, sessions } = deps

  /** The tenant that is meant: named, in the host name, or the only one; `none` when it is unknown. */
  async function locateTenant(tx: TenantTx, subdomain: string | undefined) {
    if (subdomain) return (await findTenantBySubdomain(tx, subdomain.toLowerCase())) ?? 'none'
    return deps.singleTenant ? await findOnlyTenant(tx) : undefined
  }

  async function locate(credentials: Credentials, host: string) {
    const subdomain = credentials.subdomain || subdomainOf(host, deps.publicHost)
    return db.acrossTenants(async (tx) => {
      const tenant = await locateTenant(tx, subdomain)
      if (tenant === 'none') return { tenantId: null, account: undefined }
      const account = tenant
        ? await store.findAccount(tx, tenant.id, credentials.email)
        : await store.findOnlyAccount(tx, credentials.email)
      return { tenantId: tenant?.id ?? account?.tenant_id ?? null, account }
    }, 'read')
  }

  /** Refuses, and the journal says so: the same work whether the account exists or not. */
  async function refuse(
    code: ProblemCode,
    tenantId: number | null,
    account: store.Account | undefined,
    email: string,
    origin: Origin,
  ): Promise<never> {
    await db.acrossTenants((tx) =>
      append(
        tx,
        { user_id: account?.id ?? null, user_email: account?.email ?? email, origin },
        {
          action: 'auth.login_failed',
          tenant_id: tenantId,
          resource_type: 'session',
          changes: { reason: code },
        },
      ),
    )
    throw new Problem(code)
  }

  return {
    async login(credentials, host, origin) {
      const { tenantId, account } = await locate(credentials, host)
      const isRight = await passwords.verify(account?.password_hash ?? null, credentials.password)
      const refused = (code: ProblemCode) =>
        refuse(code, tenantId, account, credentials.email, origin)
      if (!account || !isRight) return refused('invalid_credentials')
      if (!account.is_active) return refused('account_blocked')
      if (!account.tenant_is_active) return refused('tenant_inactive')
      const freshHash = passwords.isOutdated(account.password_hash)
        ? await passwords.hash(credentials.password)
        : null
      const started = await db.inTenant(account.tenant_id, async (tx) => {
        const now = new Date(clock.now()).toISOString()
        const admitted = await store.admit(tx, account, now, freshHash)
        return admitted && sessions.start(tx, { ...account, ...admitted }, origin)
      })
      // Blocked, or given another password, while this one was being checked.
      return started ? sessions.tokens(started) : refused('invalid_credentials')
    },
  }
}

/** `demo` of `demo.clinic.example` when the service is at `clinic.example`; undefined otherwise. */
export function subdomainOf(host: string, publicHost: string): string | undefined {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const suffix = `.${publicHost}`
  if (!name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  return label.includes('.') || label === '' ? undefined : label
}
