/** A webhook's URL as the journal and the log may show it. */

/** The URL without path and query, which often hold a secret of the receiver. */
export function shownUrl(url: string): string {
  return `${new URL(url).origin}/…`
}
