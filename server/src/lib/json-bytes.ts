/** Responses that are already JSON, so no serializer runs. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ENCODINGS = ['br', 'gzip'] as const

type Encoding = (typeof ENCODINGS)[number]

/** A JSON response that is the same for every caller. Its bytes are created once and shared. */
export class JsonBytes<T> {
  declare readonly of?: T
  readonly #plain: Buffer
  readonly #encoded: Readonly<Record<Encoding, Buffer>>

  constructor(value: T) {
    this.#plain = Buffer.from(JSON.stringify(value))
    this.#encoded = {
      br: brotliCompressSync(this.#plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
      gzip: gzipSync(this.#plain),
    }
  }

  /** Returns the smallest form that an `Accept-Encoding` header allows (RFC 9110 §12.5.3). */
  for(accepted: string | undefined): { bytes: Buffer; encoding?: Encoding } {
    const encoding = ENCODINGS.find((name) => allows(accepted ?? '', name))
    return encoding ? { bytes: this.#encoded[encoding], encoding } : { bytes: this.#plain }
  }
}

function allows(accepted: string, encoding: string): boolean {
  return accepted.split(',').some((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase())
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

/** A response that is already JSON. No serializer removes undeclared fields, so the text must not contain any. */
export class JsonText<T> {
  declare readonly of?: T
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
