import { describe, expect, test } from 'vitest'
import css from './tokens.css?raw'

type Tokens = ReadonlyMap<string, string>

const light = tokensOf(':root {')
const dark = tokensOf(':root[data-theme="dark"] {')
const darkOfSystem = tokensOf(':root:not([data-theme="light"]) {')

/** The colour pairs of the design, with the minimum contrast of each. */
const pairs: readonly [drawn: string, on: string, least: number][] = [
  ...['text', 'muted', 'accent', 'ok', 'attention', 'failed', 'waiting'].flatMap((drawn) =>
    ['surface', 'page'].map((on): [string, string, number] => [drawn, on, 4.5]),
  ),
  ...['accent', 'ok', 'attention', 'failed', 'waiting'].map((drawn): [string, string, number] => [
    drawn,
    `${drawn}-soft`,
    4.5,
  ]),
  ['text', 'accent-soft', 4.5],
  ['text', 'sunken', 4.5],
  ['muted', 'accent-soft', 4.5],
  ['muted', 'sunken', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['surface', 'failed', 4.5],
  ['strong', 'surface', 3],
  ...[1, 2, 3, 4].map((tone): [string, string, number] => [`chart-${tone}`, 'surface', 3]),
]

describe.each([
  ['light', light],
  ['dark', dark],
])('the %s theme', (_, tokens) => {
  test.each(pairs)('draws %s on %s with a contrast of at least %d', (drawn, on, least) => {
    expect(contrast(colour(tokens, drawn), colour(tokens, on))).toBeGreaterThanOrEqual(least)
  })
})

test('the system dark theme and the chosen dark theme have the same tokens', () => {
  expect([...darkOfSystem]).toEqual([...dark])
})

test('the light and the dark theme have the same tokens', () => {
  expect([...dark.keys()]).toEqual([...light.keys()])
})

test('no theme uses light-dark(), because the build rewrites it', () => {
  expect(css.replaceAll(/\/\*[\s\S]*?\*\//g, '')).not.toContain('light-dark(')
})

function tokensOf(selector: string): Tokens {
  const from = css.indexOf(selector) + selector.length
  const block = css.slice(from, css.indexOf('}', from))
  return new Map(
    [...block.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

function colour(tokens: Tokens, name: string): string {
  const value = tokens.get(name)
  if (!value || !/^#[0-9a-f]{6}$/.test(value)) throw new Error(`--${name} is not a colour`)
  return value
}

/** Returns the contrast ratio of two colours (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
