/** Formats amounts of money, which the API returns in minor units. */
import { LOCALE } from './locale.ts'

interface Money {
  /** The amount in minor units, such as cents. */
  readonly amount: number
  readonly currency: string
  /** The number of decimal places of the currency. */
  readonly currency_exponent: number
}

/** Formats an amount with its currency code: `EUR 100.00`. */
export function formatMoney({ amount, currency, currency_exponent: places }: Money): string {
  const digits = String(amount).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const rest = digits.slice(digits.length - places)
  // A text keeps every digit of amounts that are too precise for a number.
  const decimal = (places > 0 ? `${whole}.${rest}` : whole) as `${number}`
  const format = new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  })
  return format.format(decimal)
}
