import type { Network } from '../../platform/net/index.ts'
import type { SentNotification } from './inbox/sealed.ts'
import type { Arriving } from './inbox/store-arrivals.ts'
import type { NotificationReader } from './inbox/worker.ts'
import type { PaymentReading, Provider } from './payment-facts.ts'
import type { VerifyNotification } from './records/records.service.ts'

export interface PaymentProvider {
  /** False if the provider's variables are not set. Its notices are then unverified and limited in number. */
  isConfigured: boolean
  /**
   * Checks a notice before it is stored.
   * @param signatures the signature headers as received
   * @throws Problem, InvalidInput for a notice that must not be stored
   */
  judge(body: Buffer, signatures: readonly string[]): Arriving
  /** Decides whether a stored notice may be processed when an operator retries it. */
  verify: VerifyNotification
  /** Reads a stored notice by querying the provider's API. Null if the provider has no API. */
  read: NotificationReader | null
  /** Reads a stored notice without querying the provider. */
  readHere?: (sent: SentNotification) => PaymentReading
  /** The networks from which notices are accepted; undefined for all networks. */
  networks?: readonly Network[] | undefined
  /** The maximum number of notices that a node reads concurrently. */
  atOnce: number
}

export type Providers = { readonly [P in Provider]: PaymentProvider }
