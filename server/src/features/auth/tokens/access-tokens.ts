/** Access tokens: JWTs signed with Ed25519. Valid for 15 minutes, or 5 in the console (decisions §3, RFC 9068). */
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
 * The only accepted encoding of a token. The last character of a 64-byte signature contains four unused bits, which
 * must be zero. If other values were accepted, every token would have several valid encodings, and each would be
 * verified and cached separately.
 */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/
const LONGEST = 1024
/** The format of `randomUUID`, which generates all session ids. */
const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The verified claims of a token. The token's session may nevertheless have ended. */
export interface AccessClaims {
  userId: number
  tenantId: number
  /** The id of the token's session. */
  jti: string
  /** When the token expires, in milliseconds since the epoch. */
  expiresAt: number
}

/** A verified token with the id of the key that signed it. */
interface Verified {
  claims: AccessClaims
  kid: string
}

/** The user and the session for which a token is signed. */
interface Subject {
  userId: number
  tenantId: number
  role: Role
  jti: string
  isConsole: boolean
}

export interface AccessTokens {
  /** Signs a token. Returns the token and its lifetime in seconds. */
  sign(subject: Subject): { token: string; seconds: number }
  /** Verifies signature and expiry. @throws Problem 401 if the token is malformed or expired, or its key is invalid */
  verify(token: string): Promise<AccessClaims> | AccessClaims
}

/** Signs and verifies access tokens. @param issuer the public URL of the service, used as `iss` and `aud` */
export function accessTokens(keys: SigningKeys, clock: Clock, issuer: string): AccessTokens {
  // Clients send a token many times. Its signature is verified once, but its signing key is checked every time.
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
        // The issuer is also the only audience (RFC 9068 §2.2).
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
      throw new errors.JWTInvalid('the token has no session')
    const claims = { userId, tenantId, jti, expiresAt: Number(payload.exp) * SECOND }
    return { claims, kid: String(protectedHeader.kid) }
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new Problem('invalid_token', { cause: error })
    throw error
  }
}

/**
 * Returns a JWT in compact form (RFC 7515 §7.1), signed synchronously. WebCrypto would take twice as long, because its
 * work shares a thread pool with password hashes.
 */
function compactJws(header: object, claims: object, key: KeyObject): string {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
