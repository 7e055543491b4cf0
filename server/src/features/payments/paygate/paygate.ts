/** The paygate provider. It does not sign its notices, so paygate's API has to confirm each notice (decisions §6). */
import type { Scopes } from '../../../platform/db/index.ts'
import { type Network, openUpstream } from '../../../platform/net/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { PaymentProvider } from '../provider.ts'
import { MAX_AT_ONCE, openPaygateApi, type PaygateApi } from './api.ts'
import { paygateNoticeIn } from './notice.ts'
import { readBack } from './read-back.ts'
import { databaseTime } from './time.store.ts'

/** The configuration variables of paygate. Either all are set or none. */
export interface PaygateSettings {
  PAYGATE_API_URL: string | undefined
  PAYGATE_SHOP_ID: string | undefined
  PAYGATE_SECRET_KEY: string | undefined
  PAYGATE_ALLOWED_NETWORKS: readonly Network[] | undefined
}

export interface Paygate extends PaymentProvider {
  /** The client of paygate's API; null if paygate is not configured. */
  api: PaygateApi | null
  close(): Promise<void>
}

export function openPaygate(
  settings: PaygateSettings,
  { db, log }: { db: Scopes; log: Logger },
): Paygate {
  const { PAYGATE_API_URL: url, PAYGATE_SHOP_ID: shopId, PAYGATE_SECRET_KEY: secretKey } = settings
  if (!url || !shopId || !secretKey) return UNCONFIGURED
  const upstream = openUpstream({ url })
  const now = () => db.acrossTenants(databaseTime, 'read')
  const api = openPaygateApi({ upstream, url, shopId, secretKey, now, log })
  const read = readBack(api)
  return {
    isConfigured: true,
    judge: (body) => judged(body, 'hint'),
    // The API must confirm a stored notice when the notice is read, because notices are unsigned.
    verify: ({ verified_at }) => ({ verified_at }),
    read: ({ body }, signal) => read(body, signal),
    networks: settings.PAYGATE_ALLOWED_NETWORKS,
    atOnce: MAX_AT_ONCE,
    api,
    close: upstream.close,
  }
}

const judged = (body: Buffer, state: 'hint' | 'unverified') => ({
  notice: paygateNoticeIn(body),
  sent: { body, signature: null },
  state,
})

const UNCONFIGURED: Paygate = {
  isConfigured: false,
  judge: (body) => judged(body, 'unverified'),
  verify: () => ({ refused: 'not_configured' }),
  read: null,
  atOnce: 0,
  api: null,
  close: async () => undefined,
}
