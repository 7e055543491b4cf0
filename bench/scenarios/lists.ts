/** The pages that list scenarios ask for, and as whom. */

import type { Contender } from '../measure/duel.ts'
import { drive } from '../measure/load.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { SUPERADMIN, signIn } from '../service.ts'
import type { House } from '../stage.ts'
import { CONNECTIONS } from './scenario.ts'

export type As = 'admin' | 'superadmin'

/** The tenant whose admin asks; every size of database has it. */
export const TENANT = 3

/** A contender that gets one page again and again. */
export async function pageOf(house: House, as: As, path: string): Promise<Contender> {
  const { url } = house.service
  const { access_token } = await (as === 'admin'
    ? signIn(url, emailOf(TENANT, 0), PASSWORD, subdomainOf(TENANT))
    : signIn(url, SUPERADMIN.email, SUPERADMIN.password, 'platform'))
  const headers = { authorization: `Bearer ${access_token}` }
  return (seconds) => drive({ url: `${url}${path}`, connections: CONNECTIONS, seconds, headers })
}
