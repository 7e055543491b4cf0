/** How the objects of a backup are called in a store. */

const ID = '([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})'
const FILE = new RegExp(`^${ID}(?:[.]\\d+)?[.]tar[.]zst[.]age$`)
const SIDECAR = new RegExp(`^${ID}[.]json$`)

/** The object that holds a backup. One that was written anew has another, so that either is whole at any time. */
export const fileName = (id: string, rewrittenAt: string | null): string =>
  `${id}${rewrittenAt === null ? '' : `.${rewrittenAt.replace(/\D/g, '')}`}.tar.zst.age`

/** What the list shows of it, for a store without its database. */
export const sidecarName = (id: string): string => `${id}.json`

/** The backup whose file the object is; undefined for others. */
export const idOf = (name: string): string | undefined => FILE.exec(name)?.[1]

/** The backup whose list entry the object is; undefined for others. */
export const entryIdOf = (name: string): string | undefined => SIDECAR.exec(name)?.[1]
