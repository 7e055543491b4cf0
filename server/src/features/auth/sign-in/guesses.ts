/**
 * Counts wrong passwords and decides which callers have to wait because of them.
 *
 * The response to a wrong password is 401, or 429 with a wait. It depends only on two counters: that of the typed
 * address, and that of the caller's network. An account is known at a network from which its owner has signed in. A
 * known account also has a counter of its own, which the caller cannot observe. While other callers have to wait, the
 * right password of a known account still succeeds. A wrong password gets the same response as for all other callers.
 * Therefore neither a stranger nor a guest behind the same IP address can lock out an owner, and no caller learns
 * whether an account exists. ADR 0010 describes what a full queue can still reveal.
 */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { keyedQueue } from '../../../lib/keyed-queue.ts'
import { siteOf } from '../../../lib/network.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type GuessCount,
  type GuessCounts,
  keyPrefixOf,
  type RateLimiter,
  type Throttle,
  type ThrottleRule,
} from '../../../platform/throttle/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import * as accounts from '../accounts/accounts.store.ts'

/**
 * Allows five wrong guesses per address. Each further guess doubles the wait, up to 15 minutes. Counts an address
 * across all tenants, so that naming another tenant gives no additional guesses.
 */
const BY_EMAIL: ThrottleRule = {
  name: 'sign-in',
  free: 5,
  first: 5,
  longest: 900,
  oneByOne: true,
}
/** Allows more guesses and shorter waits than per address, because a whole clinic may share one network. */
const BY_NETWORK: ThrottleRule = { name: 'sign-in from', free: 20, first: 2, longest: 60 }
/** Counts all networks of one customer (an IPv6 /48), because an attacker can change the /64 with each guess. */
const BY_SITE: ThrottleRule = { name: 'sign-in from site', free: 40, first: 2, longest: 60 }
/** Counts wrong guesses for an account at a network where the account is known. */
const BY_KNOWN_PAIR: ThrottleRule = { name: 'sign-in known', free: 5, first: 5, longest: 900 }
/** Counts the guesses at a known account that are allowed while all other callers have to wait. */
const WHILE_OTHERS_WAIT: ThrottleRule = { ...BY_KNOWN_PAIR, free: 3 }
/** How long a network stays known after the last use of a session that the user started there. */
const KNOWN_FOR = 30 * DAY
/** The maximum number of concurrent sign-ins from one network on a node. Further sign-ins wait in a queue. */
const AT_ONCE = 8

/** A sign-in request without the password and the code. The e-mail address is folded. */
export interface SignInRequest {
  email: string
  network: string
  tenant: AskedTenant | undefined
}

/**
 * An account whose password is checked. Undefined if there is no account, or if the account has to wait. The check
 * takes the same time in every case.
 */
export type SignInPlace = (Omit<accounts.Candidate, 'own'> & { own: GuessCounts }) | undefined

export interface Guess {
  /** The accounts to check. Their number depends only on the request, so that timing reveals nothing. */
  places: readonly SignInPlace[]
  /** The wait in milliseconds that the response to a wrong guess contains. */
  wait: number
  /** The party to which this guess belongs. Parties take turns in the hashing queue. */
  party: string
}

/** A placeholder in a full queue, without a password check. Hides that a known account's guess bypasses the queue. */
interface Decoy {
  /** Resolves after the decoy's turn: to the queue's error if it rejected the decoy, otherwise to undefined. */
  turnedAway: Promise<unknown>
  /** Makes the decoy leave the queue without a password check. */
  leave(): void
}

export interface Guesses {
  /**
   * Waits for the turn of the request, and then runs `work` with a guess. If the password is wrong, `work` must count
   * the guess and throw.
   * @param check checks the password for a guess. It must take the same time for a guess without accounts.
   */
  make<T>(
    asked: SignInRequest,
    work: (guess: Guess) => Promise<T>,
    check: (guess: Guess) => Promise<unknown>,
  ): Promise<T>
  fail(tx: TenantTx, asked: SignInRequest, guess: Guess): Promise<void>
  /** Clears the failure counter of the account that has signed in. */
  clear(asked: SignInRequest, place: NonNullable<SignInPlace>): Promise<void>
}

const pairOf = ({ network, email }: SignInRequest) => `${network}/${email}`

/** Creates the guess counters. @param limit limits the attempts of one network, and of one address from that network */
export function openGuesses(
  db: Scopes,
  clock: Clock,
  throttle: Throttle,
  limit: RateLimiter,
): Guesses {
  const oneByOne = keyedQueue<string>({ perKey: 1 })
  const ofNetwork = keyedQueue<string>({ perKey: AT_ONCE })
  /** Runs the decoys of one address and network one at a time, like real guesses, so that timing reveals nothing. */
  const decoys = keyedQueue<string>({ perKey: 1 })

  function sharedCounts({ email, network }: SignInRequest): GuessCount[] {
    const site = siteOf(network)
    return [
      { rule: BY_EMAIL, of: email },
      { rule: BY_NETWORK, of: network },
      ...(site === network ? [] : [{ rule: BY_SITE, of: site }]),
    ]
  }
  const placesOf = ({ tenant }: SignInRequest) => (tenant ? 1 : accounts.MAX_CANDIDATES)

  /** Returns the counter of one account at the network, or a dummy of the same cost if it is not known there. */
  function ownCount(
    asked: SignInRequest,
    candidate: Pick<accounts.Candidate, 'id' | 'is_known'> | undefined,
    index: number,
    rule = BY_KNOWN_PAIR,
  ): GuessCount {
    const whose = candidate?.is_known ? candidate.id : `nobody/${index}/${asked.email}`
    return { rule, of: `${asked.network}/${whose}` }
  }

  /** Finds the accounts that the request may refer to. Sends the query without waiting for earlier queries. */
  function candidatesOf(tx: TenantTx, { email, tenant, network }: SignInRequest) {
    return accounts.findCandidates(tx, tenant, {
      email,
      network,
      since: isoAt(clock, -KNOWN_FOR),
      now: isoAt(clock),
      own: keyPrefixOf({ rule: BY_KNOWN_PAIR, of: `${network}/` }),
    })
  }

  async function isKnown(asked: SignInRequest): Promise<boolean> {
    const candidates = await db.acrossTenants((tx) => candidatesOf(tx, asked), 'read')
    return candidates.some((candidate) => candidate.is_known)
  }

  /** Reads the counters and accounts that sign-in needs before hashing, in one transaction and one round trip. */
  function findPlaces(asked: SignInRequest) {
    return db.acrossTenants(async (tx) => {
      const asking = Promise.all([
        throttle.readCounters(tx, sharedCounts(asked)),
        candidatesOf(tx, asked),
      ])
      tx.end()
      const [counters, candidates] = await asking
      const places = Array.from({ length: placesOf(asked) }, (_, index): SignInPlace => {
        const candidate = candidates[index]
        return candidate && { ...candidate, own: throttle.counterOf(candidate.own) }
      })
      return { counters, places }
    }, 'read')
  }

  /** Runs `work` with the accounts to check. @param late milliseconds until the network or its address may try again */
  function admit<T>(
    asked: SignInRequest,
    party: string,
    late: { network: number; pair: number },
    work: (guess: Guess) => Promise<T>,
  ): Promise<T> {
    return throttle.admit(
      sharedCounts(asked),
      () => findPlaces(asked),
      ({ places }, throttleWait) => {
        const wait = Math.max(throttleWait, late.network, late.pair)
        const isLetBe = (place: SignInPlace) =>
          wait === 0 || (late.pair === 0 && place?.is_known && place.own.wait === 0)
        return work({
          wait,
          party,
          places: places.map((place) => (isLetBe(place) ? place : undefined)),
        })
      },
    )
  }

  /**
   * Sends a decoy in place of a known account's guess, which bypasses the full queue. If the queue rejects the decoy, a
   * wrong guess returns the queue's error after the same delay as for any other caller.
   */
  function sendDecoy(asked: SignInRequest, check: (guess: Guess) => Promise<unknown>): Decoy {
    const { network } = asked
    const places = Array.from({ length: placesOf(asked) }, () => undefined)
    let isLeft = false
    const turn = decoys.run(pairOf(asked), () =>
      ofNetwork.run(network, async () => {
        if (!isLeft) await check({ places, wait: 0, party: network })
      }),
    )
    return {
      turnedAway: turn.then(
        () => undefined,
        (overloaded: unknown) => overloaded,
      ),
      leave() {
        isLeft = true
      },
    }
  }

  return {
    async make(asked, work, check) {
      const { network } = asked
      const pair = pairOf(asked)
      const late = { network: await limit(network), pair: await limit(pair) }
      const guess = (line: string) => ofNetwork.run(line, () => admit(asked, line, late, work))
      let decoy: Decoy | undefined
      try {
        // Runs the guesses at one address from one network one at a time, because they share a counter.
        return await oneByOne.run(pair, async () => {
          if (!ofNetwork.isFull(network) || !(await isKnown(asked))) return guess(network)
          decoy = sendDecoy(asked, check)
          const made = await guess(`${network}/known`)
          decoy.leave()
          return made
        })
      } catch (error) {
        // Waits for the decoy after the turn, so that the next guess need not wait for the full queue.
        throw (await decoy?.turnedAway) ?? error
      }
    },

    fail(tx, asked, { places, wait }) {
      const rule = wait > 0 ? WHILE_OTHERS_WAIT : BY_KNOWN_PAIR
      const own = places.map((place, index) => ownCount(asked, place, index, rule))
      // A wrong guess during the wait must not extend it, so it does not increase the shared counters.
      return throttle.fail(tx, wait > 0 ? own : [...sharedCounts(asked), ...own])
    },

    async clear(asked, place) {
      if (!place.is_known || place.own.failures === 0) return
      await throttle.clear(ownCount(asked, place, 0))
    },
  }
}
