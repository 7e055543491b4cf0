/** Chooses the encoding of a response from `Accept-Encoding` (RFC 9110 §12.5.3). */

export type ContentEncoding = 'br' | 'gzip' | 'identity'

const PREFERRED: readonly ContentEncoding[] = ['br', 'gzip']

/** Returns the encoding with the smallest output that is available and that the client accepts. */
export function chooseEncoding(
  header: string | undefined,
  available: { has(encoding: ContentEncoding): boolean },
): ContentEncoding {
  const weights = new Map((header ?? '').toLowerCase().split(',').map(weightOf))
  const accepts = (encoding: ContentEncoding) =>
    (weights.get(encoding) ?? weights.get('*') ?? 0) > 0
  return PREFERRED.find((encoding) => available.has(encoding) && accepts(encoding)) ?? 'identity'
}

/** Returns a list element such as `gzip;q=0.5` as its coding and weight. The weight is 1 unless specified. */
function weightOf(element: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = element.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [coding, weight === undefined ? 1 : Number(weight)]
}
