/** What a payment provider has to be able to do. */
import type { Network } from '../../platform/net/index.ts'
import type { Arriving } from './inbox/arrivals.ts'
import type { Sent } from './inbox/sealed.ts'
import type { Reader } from './inbox/worker.ts'
import type { Provider, Reading } from './payment-facts.ts'
import type { Prove } from './records/records.service.ts'

export interface PaymentProvider {
  /** False until its variables are set: what comes then is unproven, and bounded like any stranger's request. */
  isConfigured: boolean
  /**
   * Judges what has come, before anything of it is kept.
   * @param signatures the headers that may prove it, as they came
   * @throws Problem, InvalidInput for what is not to be stored
   */
  judge(body: Buffer, signatures: readonly string[]): Arriving
  /** Whether what was stored may be worked on, asked by whoever has it tried again. */
  prove: Prove
  /** Finds out what a stored notice says, where that takes somebody else; null while it is not configured. */
  read: Reader | null
  /** Reads a stored notice that says all by itself. */
  readHere?: (sent: Sent) => Reading
  /** Where its notices may come from; undefined for anywhere. */
  networks?: readonly Network[] | undefined
  /** Notices that may be read at once on a node. */
  atOnce: number
}

/** Those that there are. */
export type Providers = { readonly [P in Provider]: PaymentProvider }
