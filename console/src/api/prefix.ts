/** Finds where a proxy serves the console, so that the same build runs below any path. */

/**
 * Returns the path below which a proxy serves the whole service, such as `/wardkeep`. Returns an empty string if the
 * service is served at the root.
 * @param moduleUrl the URL of any module of the console
 */
export function prefixOf(moduleUrl: string): string {
  const { pathname } = new URL(moduleUrl)
  const at = pathname.lastIndexOf('/console/')
  return at < 0 ? '' : pathname.slice(0, at)
}

export const PREFIX = prefixOf(import.meta.url)

/** The path of the console itself, without a slash at the end. */
export const CONSOLE_PATH = `${PREFIX}/console`
