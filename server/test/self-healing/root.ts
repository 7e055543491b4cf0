/** A superadmin, for functions that tests call without HTTP. */
import type { Superadmin } from '../../src/platform/access/index.ts'

export const ROOT = {
  user_id: 7,
  tenant_id: 1,
  email: 'root@platform.test',
  role: 'superadmin',
  origin: { ip: '127.0.0.1', user_agent: null, request_id: crypto.randomUUID() },
} as unknown as Superadmin
