/** Distinguishes an outage of the provider from a single request without a response. */
import { type Clock, MINUTE } from '../../../lib/clock.ts'

/** The provider counts as unavailable after this many failures in a row that span at least the time `FOR`. */
const FAILURES = 3
const FOR = MINUTE

export interface Silence {
  /** Records a request without a response. Returns whether the provider now counts as unavailable. */
  missed(): boolean
  /** Records a response of any kind. It ends a series of failures. */
  responded(): void
}

export function watchBotSilence(clock: Clock): Silence {
  let failures = 0
  let since = 0
  return {
    missed() {
      if (failures === 0) since = clock.now()
      failures += 1
      return failures >= FAILURES && clock.now() - since >= FOR
    },
    responded() {
      failures = 0
    },
  }
}
