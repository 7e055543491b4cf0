import type { Role } from '../../../lib/roles.ts'
import type { Restriction } from '../../../platform/access/index.ts'
import type { OpaqueToken } from '../../../platform/crypto/index.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { ConsoleTokens, TokenResponse } from './sessions.schema.ts'

export interface IssuedSession {
  sessionId: string
  refresh: OpaqueToken
  user: { id: number; tenant_id: number; role: Role; full_name: string }
  isDemo: boolean
  isConsole: boolean
  /** The idle time in minutes after which a console session ends. */
  idleMinutes: number
  restriction: Restriction | null
}

/** The token response for the console's page, and the refresh token for the browser's cookie. */
export interface ForConsole {
  tokens: ConsoleTokens
  refresh: string
}

export interface IssuedTokens {
  tokens(issued: IssuedSession): TokenResponse
  consoleTokens(issued: IssuedSession): ForConsole
}

/** Returns functions that create the token responses of sessions. */
export function issuedTokens(access: AccessTokens): IssuedTokens {
  function accessOf({ sessionId, user, isDemo, isConsole, restriction }: IssuedSession) {
    const { id: userId, tenant_id: tenantId, role, full_name } = user
    const { token, seconds } = access.sign({ userId, tenantId, role, jti: sessionId, isConsole })
    return {
      access_token: token,
      token_type: 'bearer',
      expires_in: seconds,
      tenant_id: tenantId,
      role,
      user_id: userId,
      full_name,
      demo_mode: isDemo,
      enrolment_required: restriction === 'enrolment',
      password_change_required: restriction === 'password',
    } as const
  }

  return {
    tokens: (issued) => ({ ...accessOf(issued), refresh_token: issued.refresh.text }),
    consoleTokens: (issued) => ({
      tokens: { ...accessOf(issued), idle_minutes: issued.idleMinutes },
      refresh: issued.refresh.text,
    }),
  }
}
