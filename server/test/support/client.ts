/** A client that sends requests continuously and counts the responses, for tests of outages. */

import { setTimeout as delay } from 'node:timers/promises'
import type { HttpAnswer } from './process.ts'
import { until } from './until.ts'

/** Counts for one kind of request: successful responses, and responses 503 with Retry-After. */
export interface Watched {
  well: number
  refused: number
}

export interface Watch<Name extends string> {
  readonly seen: Readonly<Record<Name, Watched>>
  /** Every other response, and every connection that broke. */
  readonly wrong: unknown[]
  /** Resolves when each kind of request has succeeded again after this call. */
  allWell(): Promise<void>
  /** Resolves when a request is refused after this call. With `name`, only requests of that kind count. */
  refused(name?: Name): Promise<void>
  stop(): Promise<void>
}

/** Repeats each request until the client is stopped, one request of each kind at a time. */
export function watch<Name extends string>(
  requests: Readonly<Record<Name, () => Promise<HttpAnswer>>>,
): Watch<Name> {
  const names = Object.keys(requests) as Name[]
  const seen = Object.fromEntries(names.map((name) => [name, { well: 0, refused: 0 }])) as Record<
    Name,
    Watched
  >
  const wrong: unknown[] = []
  let stopped = false
  const loops = names.map(async (name) => {
    while (!stopped) {
      try {
        const { status, headers, body } = await requests[name]()
        if (status >= 200 && status < 300) seen[name].well += 1
        else if (status === 503 && Number(headers.get('retry-after')) > 0) seen[name].refused += 1
        else wrong.push({ name, status, body })
      } catch (error) {
        wrong.push({ name, error })
      }
      // Pauses, so that other processes get CPU time.
      await delay(5)
    }
  })
  const more = async (what: string, some: boolean, kind: keyof Watched, of: readonly Name[]) => {
    const before = of.map((name) => seen[name][kind])
    const has = (name: Name, index: number) => seen[name][kind] > (before[index] ?? 0)
    await until(
      what,
      () => wrong.length > 0 || (some ? of.some(has) : of.every(has)) || undefined,
      60_000,
    )
    if (wrong.length > 0) throw new Error(`while waiting: ${what}`, { cause: wrong })
  }
  return {
    seen,
    wrong,
    allWell: () => more('every request is answered well again', false, 'well', names),
    refused: (name) => more('a request is refused', true, 'refused', name ? [name] : names),
    async stop() {
      stopped = true
      await Promise.all(loops)
    },
  }
}
