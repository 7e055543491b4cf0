/** Chooses the encoding of a response from `Accept-Encoding` (RFC 9110 §12.5.3). */

export type ContentEncoding = 'br' | 'gzip' | 'identity'

const PREFERRED: readonly ContentEncoding[] = ['br', 'gzip']

/** Returns the encoding that is available, that the client accepts, and whose output is smallest. */
export function chooseEncoding(
  header: string | undefined,
  available: { has(encoding: ContentEncoding): boolean },
): ContentEncoding {
  const weights = new Map((header ?? '').toLowerCase().split(',').map(weightOf))
  const accepts = (encoding: ContentEncoding) =>
    (weights.get(encoding) ?? weights.get('*') ?? 0) > 0
  return PREFERRED.find((encoding) => available.has(encoding) && accepts(encoding)) ?? 'identity'
}

/** Parses a list element such as `gzip;q=0.5`. Returns its coding and weight. The default weight is 1. */
function weightOf(element: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = element.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [coding, weight === undefined ? 1 : Number(weight)]
}
