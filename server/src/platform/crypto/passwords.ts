/** Hashes and verifies passwords with argon2id, off the event loop and with limited concurrency. */

import { randomBytes } from 'node:crypto'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import { siteOf } from '../../lib/network.ts'
import { fairTurns, type TurnLimits } from './fair-turns.ts'

/** The cost of one hash. OWASP requires at least 19 MiB, 2 passes and 1 lane. */
export interface PasswordCost {
  /** Memory in KiB. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

/** Hashes and verifies passwords with a shared limit. `party` is the network or user that causes the work. */
export interface Passwords {
  /** Hashes a password. @throws Problem 503 when too many hashes are waiting */
  hash(password: string, party: string): Promise<string>
  /**
   * Verifies a password against a stored hash. For a missing account (null), the result is false after the same time.
   * @throws Problem 503 when too many hashes are waiting
   */
  verify(stored: string | null, password: string, party: string): Promise<boolean>
  /** Returns true if the hash was computed with a lower cost than the current one. */
  isOutdated(stored: string): boolean
}

/** The maximum number of waiting hashes: per party, per group and in total. */
const WAITING = { waitingOfOne: 8, waitingOfGroup: 64, waiting: 256 }

/** Returns one hash per processor, but one less than the libuv threads, which file reads and WebCrypto need too. */
export function hashesAtOnce(processors: number, threads: number): number {
  return Math.max(1, Math.min(processors, threads - 1))
}

/** Returns the party name of a signed-in user. Users of one tenant form a group. */
export function partyOf({ tenant_id, user_id }: TenantUser): string {
  return `tenant:${tenant_id}/user:${user_id}`
}

/** Returns the party name of an administrator who sets passwords. Sign-ins take precedence over its group. */
export function assignerOf(administrator: TenantUser): string {
  return `${ASSIGNERS}${partyOf(administrator)}`
}

type TenantUser = { tenant_id: number; user_id: number }

const ASSIGNERS = 'assigns:'

/** Returns the group of a party: the tenant of a signed-in user, or the site of a network address. */
const groupOf = (party: string): string =>
  party.includes('/user:') ? party.slice(0, party.indexOf('/')) : siteOf(party)

const givesWay = (group: string): boolean => group.startsWith(ASSIGNERS)

export async function openPasswords(
  cost: PasswordCost,
  atOnce: number,
  clock: TurnLimits['clock'],
  waiting: Partial<Omit<TurnLimits, 'atOnce' | 'groupOf' | 'givesWay' | 'clock'>> = {},
): Promise<Passwords> {
  const turn = fairTurns({ ...WAITING, groupOf, givesWay, ...waiting, atOnce, clock })
  const decoy = await hash(randomBytes(16).toString('base64'), cost)
  return {
    hash: (password, party) => turn(party, () => hash(normal(password), cost)),
    async verify(stored, password, party) {
      const right = await turn(party, async () => {
        const isRight = await verify(stored ?? decoy, normal(password))
        const timeCost = passesSpared(stored ?? decoy, cost)
        if (timeCost > 0) await hash(normal(password), { ...cost, timeCost })
        return isRight
      })
      return right && stored !== null
    },
    isOutdated(stored) {
      const { memoryCost, timeCost } = parseOptions(stored)
      return memoryCost < cost.memoryCost || timeCost < cost.timeCost
    },
  }
}

/** Returns the passes that an older hash saves. Adding them hides from the duration that the hash is old. */
function passesSpared(stored: string, { memoryCost, timeCost }: PasswordCost): number {
  const then = parseOptions(stored)
  return Math.ceil(timeCost - (then.memoryCost * then.timeCost) / memoryCost)
}

/** Returns true if two inputs are the same password, even if the keyboards encode its characters differently. */
export function isSamePassword(one: string, other: string): boolean {
  return normal(one) === normal(other)
}

/** Normalizes a password. All keyboards then produce the same text (NIST SP 800-63B §3.1.1.2). */
function normal(password: string): string {
  return password.normalize('NFKC')
}
