import { parseNetworks } from '../platform/net/index.ts'
import { flag, integer, variable } from './variable.ts'

export const WEBHOOK_VARIABLES = {
  WEBHOOK_ALLOW_HTTP: variable({
    meaning: 'Whether webhooks may use unencrypted `http` URLs',
    default: 'false',
    read: (text) => flag(text, false),
  }),
  WEBHOOK_ALLOWED_NETWORKS: variable({
    meaning: 'Private networks that webhooks may be sent to, such as `10.1.0.0/16, fd00::/8`',
    default: 'none; webhooks are sent to public addresses only',
    read: (text = '') => parseNetworks(text),
  }),
  WEBHOOK_RETENTION_DAYS: variable({
    meaning: 'Days that webhook deliveries are kept and can be replayed',
    default: '30',
    read: integer(30, 7, 90),
  }),
}
