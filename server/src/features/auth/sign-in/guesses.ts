/**
 * What a wrong password counts against, and whose waits hold whom.
 *
 * What a caller sees (401, or 429 with a wait) follows from what they asked for alone: from the counts
 * of the address that was typed and of their network. An account that is known at their network goes by
 * a count of its own, which they do not see: while they have to wait, its right password lets them in,
 * and a wrong one gets the answer that everybody gets. So neither strangers elsewhere nor guests behind
 * the same address keep an owner out, and nobody learns whether there is an account: ADR 0010 names what
 * remains, at a line that takes nobody any more.
 */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { siteOf } from '../../../lib/network.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Count,
  openTurns,
  type RateLimiter,
  type Standing,
  startOf,
  type Throttle,
  type ThrottleRule,
} from '../../../platform/throttle/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import * as accounts from '../accounts/accounts.store.ts'

/**
 * Five wrong guesses are free, then each doubles the wait, a quarter of an hour at the most. Counted for
 * the address in all tenants together: naming another tenant, or none, buys no further guesses.
 */
const BY_EMAIL: ThrottleRule = {
  name: 'sign-in',
  free: 5,
  first: 5,
  longest: 900,
  oneByOne: true,
}
/** A whole clinic may be behind one address: it is free for longer, and never waits for long. */
const BY_NETWORK: ThrottleRule = { name: 'sign-in from', free: 20, first: 2, longest: 60 }
/** The networks that one customer may have (an IPv6 /48): a hospital, or an attacker who picks another /64 each time. */
const BY_SITE: ThrottleRule = { name: 'sign-in from site', free: 40, first: 2, longest: 60 }
/** An account at a network that it is known at. */
const BY_KNOWN_PAIR: ThrottleRule = { name: 'sign-in known', free: 5, first: 5, longest: 900 }
/** The same count, for guesses that are let be although everybody else has to wait. */
const WHILE_OTHERS_WAIT: ThrottleRule = { ...BY_KNOWN_PAIR, free: 3 }
/** A network is known for so long after the last use of a session that the user has begun from there. */
const KNOWN_FOR = 30 * DAY
/** Sign-ins of one network that are under way on a node; the others wait for their turn. */
const AT_ONCE = 8

/** What somebody signs in with, in the one spelling that counts. */
export interface Asked {
  email: string
  network: string
  tenant: AskedTenant | undefined
}

/** An account whose password is checked in one of the places; none where it is held, or there is none. */
export type Place = (Omit<accounts.Candidate, 'own'> & { own: Standing }) | undefined

export interface Guess {
  /** Always as many for what was asked, so that all take the same time. */
  places: readonly Place[]
  /** Milliseconds that a wrong guess is told to wait. */
  wait: number
  /** Whose turns at hashing it takes. */
  party: string
}

/** A place in a full line, at whose turn nobody's password is checked. */
interface Decoy {
  /** Why it was turned away, where it was; once its turn has come. */
  turnedAway: Promise<unknown>
  /** Has nothing done at its turn. */
  leave(): void
}

export interface Guesses {
  /**
   * Makes a guess in its turn; `work` throws when it is wrong, after it has counted it.
   * @param check checks the password in the places of a guess, and takes as long where nobody is in them
   */
  make<T>(
    asked: Asked,
    work: (guess: Guess) => Promise<T>,
    check: (guess: Guess) => Promise<unknown>,
  ): Promise<T>
  /** Counts a wrong guess within the transaction. */
  fail(tx: TenantTx, asked: Asked, guess: Guess): Promise<void>
  /** Forgets the failures of the account that was let in. */
  clear(asked: Asked, place: NonNullable<Place>): Promise<void>
}

const pairOf = ({ network, email }: Asked) => `${network}/${email}`

/** @param limit how often one network, and one address of a person from there, may try */
export function openGuesses(
  db: Scopes,
  clock: Clock,
  throttle: Throttle,
  limit: RateLimiter,
): Guesses {
  const oneByOne = openTurns(1)
  const fewAtOnce = openTurns(AT_ONCE)
  /** Of one pair, as its guesses have: else it would show that these do not wait for each other. */
  const decoys = openTurns(1)

  function sharedCounts({ email, network }: Asked): Count[] {
    const site = siteOf(network)
    return [
      { rule: BY_EMAIL, of: email },
      { rule: BY_NETWORK, of: network },
      ...(site === network ? [] : [{ rule: BY_SITE, of: site }]),
    ]
  }
  const placesOf = ({ tenant }: Asked) => (tenant ? 1 : accounts.MAX_CANDIDATES)

  /** The count of a place; where no known account is, one that holds nobody, so that counting it costs the same. */
  function ownCount(
    asked: Asked,
    candidate: Pick<accounts.Candidate, 'id' | 'is_known'> | undefined,
    index: number,
    rule = BY_KNOWN_PAIR,
  ): Count {
    const whose = candidate?.is_known ? candidate.id : `nobody/${index}/${asked.email}`
    return { rule, of: `${asked.network}/${whose}` }
  }

  /** The accounts that are meant; the question is sent at once. */
  function candidatesOf(tx: TenantTx, { email, tenant, network }: Asked) {
    return accounts.findCandidates(tx, tenant, {
      email,
      network,
      since: isoAt(clock, -KNOWN_FOR),
      now: isoAt(clock),
      own: startOf({ rule: BY_KNOWN_PAIR, of: `${network}/` }),
    })
  }

  async function isKnown(asked: Asked): Promise<boolean> {
    const candidates = await db.acrossTenants((tx) => candidatesOf(tx, asked), 'read')
    return candidates.some((candidate) => candidate.is_known)
  }

  /** All that a sign-in reads before the hash: one transaction, one round trip. */
  function look(asked: Asked) {
    return db.acrossTenants(async (tx) => {
      const asking = Promise.all([
        throttle.standings(tx, sharedCounts(asked)),
        candidatesOf(tx, asked),
      ])
      tx.end()
      const [standings, candidates] = await asking
      const places = Array.from({ length: placesOf(asked) }, (_, index): Place => {
        const candidate = candidates[index]
        return candidate && { ...candidate, own: throttle.standingOf(candidate.own) }
      })
      return { standings, places }
    }, 'read')
  }

  /** @param late milliseconds until the network, and the address from there, may try again */
  function admit<T>(
    asked: Asked,
    party: string,
    late: { network: number; pair: number },
    work: (guess: Guess) => Promise<T>,
  ): Promise<T> {
    return throttle.admit(
      sharedCounts(asked),
      () => look(asked),
      ({ places }, held) => {
        const wait = Math.max(held, late.network, late.pair)
        const isLetBe = (place: Place) =>
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
   * Keeps a place in a full line for a known one, whose guess is made in a line that nobody else fills: where that is
   * refused they are told so as late as the others there, and find the line as full.
   */
  function sendDecoy(asked: Asked, check: (guess: Guess) => Promise<unknown>): Decoy {
    const { network } = asked
    const places = Array.from({ length: placesOf(asked) }, () => undefined)
    let isLeft = false
    const turn = decoys(pairOf(asked), () =>
      fewAtOnce(network, async () => {
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
      const guess = (line: string) => fewAtOnce(line, () => admit(asked, line, late, work))
      let decoy: Decoy | undefined
      try {
        // Guesses at one address from one network share the count of a known pair.
        return await oneByOne(pair, async () => {
          if (!fewAtOnce.isFull(network) || !(await isKnown(asked))) return guess(network)
          decoy = sendDecoy(asked, check)
          const made = await guess(`${network}/known`)
          decoy.leave()
          return made
        })
      } catch (error) {
        // Not within the turn of the pair: whoever comes next is not to wait for that line.
        throw (await decoy?.turnedAway) ?? error
      }
    },

    fail(tx, asked, { places, wait }) {
      const rule = wait > 0 ? WHILE_OTHERS_WAIT : BY_KNOWN_PAIR
      const own = places.map((place, index) => ownCount(asked, place, index, rule))
      // Asking while one has to wait makes the wait no longer.
      return throttle.fail(tx, wait > 0 ? own : [...sharedCounts(asked), ...own])
    },

    async clear(asked, place) {
      if (!place.is_known || place.own.failures === 0) return
      await throttle.clear(ownCount(asked, place, 0))
    },
  }
}
