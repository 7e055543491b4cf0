/**
 * Converts amounts to exact integers in minor units. Uses its own table of decimal places. The table of `Intl` differs
 * from ISO 4217 for some currencies (IQD, HUF, COP), and has two places for any unknown code.
 */

/** The codes of ISO 4217 list one by number of decimal places. Excludes codes for which ISO 4217 defines no number. */
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
// The last six codes with two decimal places were withdrawn since 2021. Their payments may still be refunded.

const EXPONENTS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES).flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(exponent)] as const),
  ),
)

/** The maximum length of a parsed amount. No representable amount needs more digits. */
const MAX_DIGITS = 64

/** Returns a currency code in upper case, or undefined if it is not an ISO 4217 code. */
export function currencyOf(code: unknown): string | undefined {
  if (typeof code !== 'string' || !/^[A-Za-z]{3}$/.test(code)) return undefined
  const upper = code.toUpperCase()
  return EXPONENTS.has(upper) ? upper : undefined
}

/** Returns the number of decimal places of a currency. @throws RangeError for a code unknown to `currencyOf` */
export function exponentOf(currency: string): number {
  const exponent = EXPONENTS.get(currency)
  if (exponent === undefined) throw new RangeError('not an ISO 4217 currency')
  return exponent
}

/**
 * Converts a decimal string such as `100.00` to minor units without rounding. Returns undefined if the value is not a
 * plain decimal, exceeds 2^53-1, or has more decimal places than the currency. Extra zeros are accepted.
 */
export function minorUnits(decimal: unknown, currency: string): number | undefined {
  if (typeof decimal !== 'string' || decimal.length > MAX_DIGITS) return undefined
  const [, whole, fraction = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(decimal) ?? []
  if (whole === undefined) return undefined
  const exponent = exponentOf(currency)
  if (/[1-9]/.test(fraction.slice(exponent))) return undefined
  return safeInteger(whole + fraction.slice(0, exponent).padEnd(exponent, '0'))
}

/**
 * Parses an integer of minor units from its JSON source. Accepts a decimal point followed by zeros, because programs
 * that use floats write this. Returns undefined for any other text.
 */
export function wholeUnits(source: string | undefined): number | undefined {
  if (source === undefined || source.length > MAX_DIGITS) return undefined
  const [, digits] = /^(0|[1-9][0-9]*)(?:\.0+)?$/.exec(source) ?? []
  return digits === undefined ? undefined : safeInteger(digits)
}

function safeInteger(digits: string): number | undefined {
  const value = BigInt(digits)
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
}

/** Formats minor units for display, such as `100.00 EUR`. Returns undefined for an invalid amount or currency. */
export function showAmount(minor: unknown, currency: unknown): string | undefined {
  const code = currencyOf(currency)
  if (!code || !Number.isSafeInteger(minor) || Number(minor) < 0) return undefined
  const exponent = exponentOf(code)
  const digits = String(minor).padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return `${whole}${exponent > 0 ? `.${digits.slice(-exponent)}` : ''} ${code}`
}
