/** Access tokens: JWTs signed with Ed25519 that last 15 minutes, in the console 5 (decisions §3, RFC 9068). */
import { type KeyObject, sign } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Role } from '../../../lib/roles.ts'
import { ALGORITHM, type SigningKeys } from './signing-keys.service.ts'

const API_TOKEN_MS = 15 * MINUTE
const CONSOLE_TOKEN_MS = 5 * MINUTE
const TYPE = 'at+jwt'
/**
 * The only spelling of a token: a signature has 64 bytes, so of its last character four bits say nothing,
 * and are none. Other spellings would be checked, and held, each for itself.
 */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/
const LONGEST = 1024
/** As `randomUUID` writes it, the only form that a session's id has. */
const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What a token proves; whether its session still lives is asked elsewhere. */
export interface AccessClaims {
  userId: number
  tenantId: number
  /** The session's id. */
  jti: string
  /** Milliseconds since the epoch after which the token is void. */
  expiresAt: number
}

/** A checked token, with the id of the key that signed it. */
interface Verified {
  claims: AccessClaims
  kid: string
}

/** The user and the session of a token. */
interface Subject {
  userId: number
  tenantId: number
  role: Role
  jti: string
  isConsole: boolean
}

export interface AccessTokens {
  /** Returns a token, and the seconds that it lasts. */
  sign(subject: Subject): { token: string; seconds: number }
  /** @throws Problem 401 unless a key that still verifies signed the token and it has not expired */
  verify(token: string): Promise<AccessClaims> | AccessClaims
}

/** @param issuer the service's public address, the claims `iss` and `aud` */
export function accessTokens(keys: SigningKeys, clock: Clock, issuer: string): AccessTokens {
  // A client sends the same token many times: its signature is checked once, and its key each time.
  const verified = new LRUCache<string, Verified>({ max: 20_000 })

  async function check(token: string): Promise<AccessClaims> {
    const found = await readClaims(token, keys, clock, issuer)
    verified.set(token, found)
    return found.claims
  }

  return {
    sign({ userId, tenantId, role, jti, isConsole }) {
      const seconds = (isConsole ? CONSOLE_TOKEN_MS : API_TOKEN_MS) / SECOND
      const { kid, key } = keys.signer()
      const now = Math.floor(clock.now() / SECOND)
      const claims = {
        tid: tenantId,
        role,
        iss: issuer,
        // Whoever issues them is the only one that they are for (RFC 9068 §2.2).
        aud: issuer,
        sub: String(userId),
        jti,
        iat: now,
        exp: now + seconds,
      }
      return { token: compactJws({ alg: ALGORITHM, typ: TYPE, kid }, claims, key), seconds }
    },
    verify(token) {
      const known = verified.get(token)
      if (!known) {
        if (token.length > LONGEST || !TOKEN.test(token)) throw new Problem('invalid_token')
        return check(token)
      }
      const { claims, kid } = known
      if (claims.expiresAt > clock.now() && keys.verifies(kid)) return claims
      verified.delete(token)
      throw new Problem('invalid_token')
    },
  }
}

async function readClaims(
  token: string,
  keys: SigningKeys,
  clock: Clock,
  issuer: string,
): Promise<Verified> {
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = typeof kid === 'string' ? await keys.verifier(kid) : undefined
        if (!key) throw new errors.JWKSNoMatchingKey()
        return key
      },
      {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer,
        audience: issuer,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'tid', 'jti', 'exp'],
      },
    )
    const [userId, tenantId, jti] = [Number(payload.sub), Number(payload.tid), String(payload.jti)]
    if (!Number.isSafeInteger(userId) || !Number.isSafeInteger(tenantId) || !SESSION_ID.test(jti))
      throw new errors.JWTInvalid('the claims name no session')
    const claims = { userId, tenantId, jti, expiresAt: Number(payload.exp) * SECOND }
    return { claims, kid: String(protectedHeader.kid) }
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new Problem('invalid_token', { cause: error })
    throw error
  }
}

/**
 * The compact form of RFC 7515 §7.1, signed with Ed25519 at once: WebCrypto's way through a thread,
 * where password hashes wait as well, takes twice as long as the signature.
 */
function compactJws(header: object, claims: object, key: KeyObject): string {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
