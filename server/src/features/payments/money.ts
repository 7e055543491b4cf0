/**
 * Amounts as integers in minor units, exactly. The exponents are a table of our own: `Intl` rounds some
 * currencies as people write them (IQD, HUF, COP) and has two decimals for any unknown code.
 */

/** ISO 4217, list one, by the digits behind the decimal mark; what has none in the standard is left out. */
const CODES: Record<0 | 2 | 3 | 4, string> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE
    CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD
    HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD
    RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH
    USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG ANG BGN CUC HRK SLL ZWL`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
// The last six of two digits were withdrawn since 2021: their payments may still be refunded.

const EXPONENTS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES).flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(exponent)] as const),
  ),
)

/** The most digits that are looked at: no amount that can be held has more that matter. */
const MAX_DIGITS = 64

/** A currency's code in upper case; undefined for what is none of ISO 4217. */
export function currencyOf(code: unknown): string | undefined {
  if (typeof code !== 'string' || !/^[A-Za-z]{3}$/.test(code)) return undefined
  const upper = code.toUpperCase()
  return EXPONENTS.has(upper) ? upper : undefined
}

/** The digits behind the decimal mark. @throws RangeError for what `currencyOf` does not know */
export function exponentOf(currency: string): number {
  const exponent = EXPONENTS.get(currency)
  if (exponent === undefined) throw new RangeError('no currency of ISO 4217')
  return exponent
}

/**
 * A decimal such as `100.00` in minor units of the currency; undefined for what is no plain decimal, has
 * more digits than the currency (unless they are zeros), or is over 2^53-1. Nothing is rounded.
 */
export function minorUnits(decimal: unknown, currency: string): number | undefined {
  if (typeof decimal !== 'string' || decimal.length > MAX_DIGITS) return undefined
  const [, whole, fraction = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(decimal) ?? []
  if (whole === undefined) return undefined
  const exponent = exponentOf(currency)
  if (/[1-9]/.test(fraction.slice(exponent))) return undefined
  return held(whole + fraction.slice(0, exponent).padEnd(exponent, '0'))
}

/**
 * Returns an integer of minor units from its JSON source: digits, and zeros after a point, as programs write
 * them that count in floats. Undefined for anything else.
 */
export function wholeUnits(source: string | undefined): number | undefined {
  if (source === undefined || source.length > MAX_DIGITS) return undefined
  const [, digits] = /^(0|[1-9][0-9]*)(?:\.0+)?$/.exec(source) ?? []
  return digits === undefined ? undefined : held(digits)
}

function held(digits: string): number | undefined {
  const value = BigInt(digits)
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
}

/** Returns minor units as people write them, `100.00 EUR`; undefined for what is no amount of a currency. */
export function showAmount(minor: unknown, currency: unknown): string | undefined {
  const code = currencyOf(currency)
  if (!code || !Number.isSafeInteger(minor) || Number(minor) < 0) return undefined
  const exponent = exponentOf(code)
  const digits = String(minor).padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return `${whole}${exponent > 0 ? `.${digits.slice(-exponent)}` : ''} ${code}`
}
