/** Hashes and checks passwords: argon2id, off the event loop, never more at once than is wise. */

import { randomBytes } from 'node:crypto'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import { siteOf } from '../../lib/network.ts'
import { fairTurns, type TurnLimits } from './fair-turns.ts'

/** Cost of one hash; OWASP's least is 19 MiB, 2 passes, 1 lane. */
export interface PasswordCost {
  /** KiB of memory. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

/** Both take turns: `party` is the network, or the signed-in user, that the work is done for. */
export interface Passwords {
  /** @throws Problem 503 when too many are waiting */
  hash(password: string, party: string): Promise<string>
  /**
   * Checks a password against a hash; with null in its place, for an account that does not exist,
   * it takes the same time and returns false.
   * @throws Problem 503 when too many are waiting
   */
  verify(stored: string | null, password: string, party: string): Promise<boolean>
  /** Whether the hash was made at a lower cost than today's. */
  isOutdated(stored: string): boolean
}

/** Hashes that wait: of one party, of all that may be one hand's, and in all. */
const WAITING = { waitingOfOne: 8, waitingOfGroup: 64, waiting: 256 }

/**
 * As many hashes at once as there are processors, but for one of libuv's threads: file reads and
 * WebCrypto run on the same ones, and would wait behind the hashes.
 */
export function hashesAtOnce(processors: number, threads: number): number {
  return Math.max(1, Math.min(processors, threads - 1))
}

/** The party of a signed-in user, in the group of their tenant. */
export function partyOf({ tenant_id, user_id }: TenantUser): string {
  return `tenant:${tenant_id}/user:${user_id}`
}

/** The party of an administrator who sets the passwords of others, in a group that gives way to sign-ins. */
export function assignerOf(administrator: TenantUser): string {
  return `${ASSIGNERS}${partyOf(administrator)}`
}

type TenantUser = { tenant_id: number; user_id: number }

const ASSIGNERS = 'assigns:'

/** The group of a party: the tenant of a signed-in user, the site of a network. */
const groupOf = (party: string): string =>
  party.includes('/user:') ? party.slice(0, party.indexOf('/')) : siteOf(party)

const givesWay = (group: string): boolean => group.startsWith(ASSIGNERS)

/** @param atOnce hashes computed in parallel */
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

/** How many passes of today's a hash of former days costs less: they are made up, or the time would tell of it. */
function passesSpared(stored: string, { memoryCost, timeCost }: PasswordCost): number {
  const then = parseOptions(stored)
  return Math.ceil(timeCost - (then.memoryCost * then.timeCost) / memoryCost)
}

/** Whether two are one password, however they are typed. */
export function isSamePassword(one: string, other: string): boolean {
  return normal(one) === normal(other)
}

/** One password typed on two keyboards is the same text (NIST SP 800-63B §3.1.1.2). */
function normal(password: string): string {
  return password.normalize('NFKC')
}
