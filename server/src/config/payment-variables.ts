import { isBadlyPasted } from '../lib/pasted.ts'
import { parseNetworks, parseUpstreamUrl } from '../platform/net/index.ts'
import { allOrNone, integer, listIn, variable } from './variable.ts'

const MIN_SECRET = 16

const ofPaygate = allOrNone([
  'PAYGATE_API_URL',
  'PAYGATE_SHOP_ID',
  'PAYGATE_SECRET_KEY',
  'PAYGATE_ALLOWED_NETWORKS',
])

export const PAYMENT_VARIABLES = {
  PAYMENT_INBOX_DAYS: variable({
    meaning:
      'Days that payment notifications are kept. Unverified ones are kept for at most 7 days.',
    default: '30',
    read: integer(30, 1, 365),
  }),
  PAYMENT_RATE_LIMIT_PER_MINUTE: variable({
    meaning:
      'Payment notifications per minute from one address, counted separately for each provider. 0 means no limit.',
    default: '60000',
    read: integer(60_000, 0, 10_000_000),
  }),
  CARDNET_WEBHOOK_SECRET: variable({
    meaning:
      'Secret with which cardnet signs its notifications, at least 16 characters. While the secret is being replaced, several can be given, separated by commas.',
    default: 'none; notifications of cardnet are stored but not applied',
    read: (text = '') => secrets(text),
  }),
  PAYGATE_API_URL: variable({
    meaning: "URL of paygate's API. Set all of the first four `PAYGATE_` variables or none.",
    default: 'none; notifications of paygate are stored but not applied',
    read: ofPaygate('PAYGATE_API_URL', parseUpstreamUrl),
  }),
  PAYGATE_SHOP_ID: variable({
    meaning: "User name for paygate's API",
    default: 'none',
    read: ofPaygate('PAYGATE_SHOP_ID', (text) => {
      if (!/^[!-9;-~]+$/.test(text)) throw new Error('must be ASCII without spaces and colons')
      return text
    }),
  }),
  PAYGATE_SECRET_KEY: variable({
    meaning: "Password for paygate's API",
    default: 'none',
    read: ofPaygate('PAYGATE_SECRET_KEY', (text) => {
      if (!/^[!-~]+$/.test(text)) throw new Error('must be ASCII without spaces')
      return text
    }),
  }),
  PAYGATE_ALLOWED_NETWORKS: variable({
    meaning:
      'Networks from which paygate sends notifications, such as `192.0.2.0/25, 2001:db8::/32`. Other addresses get 403.',
    default: 'none',
    read: ofPaygate('PAYGATE_ALLOWED_NETWORKS', (text) => {
      const networks = parseNetworks(text)
      if (networks.length === 0)
        throw new Error('must contain at least one network, such as 192.0.2.0/25')
      return networks
    }),
  }),
  PAYGATE_RECONCILE_MINUTES: variable({
    meaning:
      "Minutes between checks of paygate's API for missed notifications. 0 disables the checks.",
    default: '60',
    read: integer(60, 0, 1440),
  }),
}

/** Reads secrets. Error messages describe the fault but do not contain the value. */
function secrets(text: string): string[] {
  const listed = listIn(text)
  if (listed.some((secret) => secret.length < MIN_SECRET))
    throw new Error(`must have at least ${MIN_SECRET} characters in each secret`)
  if (listed.some(isBadlyPasted))
    throw new Error('has quotes or invisible characters around a secret. Write the secrets only')
  return listed
}
