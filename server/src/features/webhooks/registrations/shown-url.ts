/** A webhook's URL as the journal and the log may show it. */

/** Returns the URL without path and query, which often contain a secret of the receiver. */
export function shownUrl(url: string): string {
  return `${new URL(url).origin}/…`
}
