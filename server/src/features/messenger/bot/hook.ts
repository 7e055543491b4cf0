/** Handles updates sent to the webhook. Any process can receive them, and each update is handled once. */
import { timingSafeEqual } from 'node:crypto'
import { InvalidInput, Problem } from '../../../lib/problems.ts'
import type { DeriveKey } from '../../../platform/crypto/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { digestWith } from '../linking/codes.ts'
import { findBotId } from './bot.store.ts'
import type { Take } from './take-updates.ts'
import type { Update } from './updates.ts'

export const HOOK_PATH = '/webhooks/messenger'

/** Returns the secret that authenticates webhook calls. A different bot token has a different secret. */
export const hookSecret = (deriveKey: DeriveKey, token: string): string =>
  digestWith(deriveKey('messenger webhook'))(token).toString('base64url')

export interface Hook {
  /**
   * Handles an update. Rejects a call without the provider's secret before reading its body.
   * @throws Problem 404 if updates are polled, 403 for a wrong secret, 503 while the bot is not identified
   * @throws InvalidInput if the body is not an update
   */
  take(secrets: readonly string[], body: Buffer): Promise<void>
}

export interface HookDeps {
  db: Scopes
  take: Take
  /** The secret that authenticates the provider, or null if updates are polled. */
  secret: string | null
}

export function openHook({ db, take, secret }: HookDeps): Hook {
  return {
    async take(secrets, body) {
      if (secret === null) throw new Problem('not_found')
      if (!isSame(secrets, secret)) throw new Problem('wrong_secret')
      const update = readUpdate(body)
      await db.acrossTenants(async (tx) => {
        const bot_id = await findBotId(tx)
        // The provider sends the update again after this error.
        if (bot_id === null) throw new Problem('messenger_unconfigured', { retryAfter: 5 })
        await take(tx, bot_id, update)
      })
    },
  }
}

/** Returns whether the request has exactly one secret header that equals the secret. Compares in constant time. */
function isSame(shown: readonly string[], secret: string): boolean {
  const [one = ''] = shown
  const [a, b] = [Buffer.from(one), Buffer.from(secret)]
  return shown.length === 1 && a.length === b.length && timingSafeEqual(a, b)
}

function readUpdate(body: Buffer): Update {
  const update = parse(body.toString())
  const { update_id } = (update ?? {}) as Partial<Update>
  if (Number.isSafeInteger(update_id)) return update as Update
  throw new InvalidInput([
    { loc: ['body'], msg: 'Value error, the body must be an update', type: 'value_error' },
  ])
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
