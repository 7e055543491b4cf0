/** Updates that the provider sends by itself, to whichever process: each is taken once. */
import { timingSafeEqual } from 'node:crypto'
import { InvalidInput, Problem } from '../../../lib/problems.ts'
import type { DeriveKey } from '../../../platform/crypto/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { digestWith } from '../linking/codes.ts'
import { findBotId } from './bot.store.ts'
import type { Take } from './taking.ts'
import type { Update } from './updates.ts'

export const HOOK_PATH = '/webhooks/messenger'

/** What proves calls for the bot of the token: those for a former bot are not taken as its own. */
export const hookSecret = (deriveKey: DeriveKey, token: string): string =>
  digestWith(deriveKey('messenger webhook'))(token).toString('base64url')

export interface Hook {
  /**
   * Takes an update. What is not shown to be the provider's is not even read.
   * @throws Problem 404 where updates are asked for, 403 for a wrong secret, 503 while the bot is not known
   * @throws InvalidInput for what is no update
   */
  take(secrets: readonly string[], body: Buffer): Promise<void>
}

export interface HookDeps {
  db: Scopes
  take: Take
  /** What proves the provider; null where updates are asked for. */
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
        // The provider sends it again.
        if (bot_id === null) throw new Problem('messenger_unconfigured', { retryAfter: 5 })
        await take(tx, bot_id, update)
      })
    },
  }
}

/** One header of the right value, compared in the same time whatever it is. */
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
    { loc: ['body'], msg: 'Value error, this is no update', type: 'value_error' },
  ])
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
