/** Tells a provider that is away from one that has not answered once. */
import { type Clock, MINUTE } from '../../../lib/clock.ts'

/** One failure is a blip: this many in a row, over so long, are none. */
const FAILURES = 3
const FOR = MINUTE

export interface Silence {
  /** Notes a question that was not answered. Returns whether the provider is away by now. */
  missed(): boolean
  /** Notes that it has answered, whatever it was. */
  heard(): void
}

export function watchSilence(clock: Clock): Silence {
  let failures = 0
  let since = 0
  return {
    missed() {
      if (failures === 0) since = clock.now()
      failures += 1
      return failures >= FAILURES && clock.now() - since >= FOR
    },
    heard() {
      failures = 0
    },
  }
}
