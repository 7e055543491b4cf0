/** A webhook's URL in the form that the journal and the log may contain. */

/** Returns the URL without path and query, which often contain a secret of the receiver. */
export function shownUrl(url: string): string {
  return `${new URL(url).origin}/…`
}
