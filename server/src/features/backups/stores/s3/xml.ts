/** Parses the simple XML in S3 responses: elements have no attributes, and each name occurs at only one level. */

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Returns the contents of all elements with the name, in document order. */
export function elementsOf(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))
  return [...found].map(([, content = '']) => content)
}

/** Returns the text of the first element with the name; undefined if there is none. */
export function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]?.replace(/&(#x?)?(\w+);/g, (whole, numeric, word) => {
    if (numeric === undefined) return ENTITIES[word] ?? whole
    return String.fromCodePoint(Number.parseInt(word, numeric === '#' ? 10 : 16))
  })
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => `&${sign === '&' ? 'amp' : sign === '<' ? 'lt' : 'gt'};`)
