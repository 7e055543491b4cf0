/** Hashes and checks passwords: argon2id, off the event loop, never more at once than is wise. */

import { randomBytes } from 'node:crypto'
import { hash, parseOptions, verify } from '@node-rs/argon2'
import { Problem } from '../../lib/problems.ts'

/** Cost of one hash; OWASP's least is 19 MiB, 2 passes, 1 lane. */
export interface PasswordCost {
  /** KiB of memory. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Checks a password against a hash; with null in its place, for an account that does not exist,
   * it takes the same time and answers false.
   * @throws Problem 503 when too many are waiting
   */
  verify(stored: string | null, password: string): Promise<boolean>
  /** Whether the hash was made at a lower cost than today's. */
  isOutdated(stored: string): boolean
}

/** @param atOnce hashes computed in parallel; @param waiting how many more may queue */
export async function openPasswords(
  cost: PasswordCost,
  atOnce: number,
  waiting: number,
): Promise<Passwords> {
  const turn = turns(atOnce, waiting)
  const decoy = await hash(randomBytes(16).toString('base64'), cost)
  return {
    hash: (password) => turn(() => hash(normal(password), cost)),
    async verify(stored, password) {
      const right = await turn(() => verify(stored ?? decoy, normal(password)))
      return right && stored !== null
    },
    isOutdated(stored) {
      const { memoryCost, timeCost } = parseOptions(stored)
      return memoryCost < cost.memoryCost || timeCost < cost.timeCost
    },
  }
}

/** One password typed on two keyboards is the same text (NIST SP 800-63B §3.1.1.2). */
function normal(password: string): string {
  return password.normalize('NFKC')
}

/** Lets `atOnce` pieces of work run and `waiting` more wait, in order; the rest are refused. */
function turns(atOnce: number, waiting: number) {
  let running = 0
  const queue: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (queue.length >= waiting) throw new Problem('overloaded', { retryAfter: 2 })
      await new Promise<void>((resolve) => queue.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next) next()
      else running -= 1
    }
  }
}
