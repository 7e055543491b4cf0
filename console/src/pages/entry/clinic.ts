/** The clinic that a user types, and the clinic that this browser used last. */

const STORED = 'clinic'

interface ListedClinic {
  name: string
  subdomain: string
}

/** Returns the subdomain for a typed name or subdomain, or undefined if nothing was typed. */
export function subdomainOf(typed: string, listed: readonly ListedClinic[]): string | undefined {
  const wanted = typed.trim().toLocaleLowerCase()
  if (wanted === '') return undefined
  const named = listed.find(
    ({ name, subdomain }) => subdomain === wanted || name.trim().toLocaleLowerCase() === wanted,
  )
  return named?.subdomain ?? wanted
}

/** Returns the subdomain of the last sign-in in this browser. */
export function lastClinic(): string {
  try {
    return localStorage.getItem(STORED) ?? ''
  } catch {
    return ''
  }
}

/** Stores the subdomain for the next sign-in. */
export function rememberClinic(subdomain: string | undefined): void {
  try {
    if (subdomain) localStorage.setItem(STORED, subdomain)
  } catch {
    // Browsers may refuse storage. The user then types the clinic at each sign-in.
  }
}
