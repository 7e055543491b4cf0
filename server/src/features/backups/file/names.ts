const ID = '([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})'
const FILE = new RegExp(`^${ID}(?:[.]\\d+)?[.]tar[.]zst[.]age$`)
const SIDECAR = new RegExp(`^${ID}[.]json$`)

/** Returns the name of a backup's file. A rewrite uses a new name, so that there is a complete file at any time. */
export const fileName = (id: string, rewrittenAt: string | null): string =>
  `${id}${rewrittenAt === null ? '' : `.${rewrittenAt.replace(/\D/g, '')}`}.tar.zst.age`

/** Returns the name of a backup's list entry. The entry describes the backup in case the database is lost. */
export const sidecarName = (id: string): string => `${id}.json`

/** Returns the id of the backup if the object is its file. Returns undefined for other objects. */
export const backupIdOf = (name: string): string | undefined => FILE.exec(name)?.[1]

/** Returns the id of the backup if the object is its list entry. Returns undefined for other objects. */
export const entryIdOf = (name: string): string | undefined => SIDECAR.exec(name)?.[1]
