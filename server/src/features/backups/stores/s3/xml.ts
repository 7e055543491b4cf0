/** The little XML of S3's answers: elements without attributes, whose names occur at one level alone. */

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The contents of each element of the name, in order. */
export function elementsOf(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))
  return [...found].map(([, content = '']) => content)
}

/** The text of the first element of the name; undefined where there is none. */
export function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]?.replace(/&(#x?)?(\w+);/g, (whole, numeric, word) => {
    if (numeric === undefined) return ENTITIES[word] ?? whole
    return String.fromCodePoint(Number.parseInt(word, numeric === '#' ? 10 : 16))
  })
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => `&${sign === '&' ? 'amp' : sign === '<' ? 'lt' : 'gt'};`)
