/** The variables of paygate, which are of use together alone. */
import { parseNetworks, parseUpstreamUrl } from '../platform/net/index.ts'
import { allOrNone, integer, variable } from './variable.ts'

const ofPaygate = allOrNone([
  'PAYGATE_API_URL',
  'PAYGATE_SHOP_ID',
  'PAYGATE_SECRET_KEY',
  'PAYGATE_ALLOWED_NETWORKS',
])

export const PAYGATE_VARIABLES = {
  PAYGATE_API_URL: variable({
    meaning: "paygate's API, what its paths go below; all four `PAYGATE_` variables or none",
    default: 'none: notifications of paygate are stored, and not applied',
    read: ofPaygate('PAYGATE_API_URL', parseUpstreamUrl),
  }),
  PAYGATE_SHOP_ID: variable({
    meaning: "user name for paygate's API (Basic)",
    default: 'none',
    read: ofPaygate('PAYGATE_SHOP_ID', (text) => {
      if (!/^[!-9;-~]+$/.test(text)) throw new Error('must be ASCII without blanks and colons')
      return text
    }),
  }),
  PAYGATE_SECRET_KEY: variable({
    meaning: "password for paygate's API (Basic)",
    default: 'none',
    read: ofPaygate('PAYGATE_SECRET_KEY', (text) => {
      if (!/^[!-~]+$/.test(text)) throw new Error('must be ASCII without blanks')
      return text
    }),
  }),
  PAYGATE_ALLOWED_NETWORKS: variable({
    meaning:
      'networks that paygate sends notifications from, such as `192.0.2.0/25, 2001:db8::/32`; any other address is answered 403',
    default: 'none',
    read: ofPaygate('PAYGATE_ALLOWED_NETWORKS', (text) => {
      const networks = parseNetworks(text)
      if (networks.length === 0) throw new Error('must name a network, such as 192.0.2.0/25')
      return networks
    }),
  }),
  PAYGATE_RECONCILE_MINUTES: variable({
    meaning:
      "minutes after which paygate's API is asked for payments whose notification was missed; 0 for never",
    default: '60',
    read: integer(60, 0, 1440),
  }),
}
