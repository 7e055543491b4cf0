/** Compares the size of the built console with its budget, from Vite's manifest. */

/** The chunks of a build by their sources (`build.manifest` of Vite). */
export type Manifest = Readonly<Record<string, Chunk>>

interface Chunk {
  file: string
  isEntry?: boolean
  /** Style sheets that load with this chunk. */
  css?: readonly string[]
  /** Chunks that load together with this one. */
  imports?: readonly string[]
  dynamicImports?: readonly string[]
}

/** The budgets in kB (1000 bytes) after gzip. */
export const BUDGET = { signIn: 129, firstList: 151, furtherPage: 24, styles: 16 } as const

const SIGN_IN = /\/sign-in\b/
const FIRST_LIST = /\/users\b/
/** The gallery of parts. It is for developers only, and no page links to it. */
const GALLERY = /\/parts-gallery\//
const FONT = /\.(?:woff2?|ttf|otf|eot)$/

/**
 * A page, and the chunks that are loaded before the page's own chunk: those of the app, and those of the modules that
 * import the page.
 */
interface LazyPage {
  source: string
  before: ReadonlySet<string>
  all: ReadonlySet<string>
}

/**
 * Returns a line for each part of the build that exceeds its budget.
 * @param sizes the size of each served file after gzip, in bytes
 */
export function tooLarge(manifest: Manifest, sizes: ReadonlyMap<string, number>): string[] {
  const sizeOf = (files: Iterable<string>) =>
    [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0) / 1000
  const over = (what: string, files: Iterable<string>, limit: number) => {
    const size = sizeOf(files)
    return size > limit ? [`${what}: ${size.toFixed(1)} kB of ${limit} kB`] : []
  }
  const files = [...sizes.keys()]
  const classicScripts = files.filter((file) => /^[^/]+\.js$/.test(file))
  const entries = Object.keys(manifest).filter((source) => manifest[source]?.isEntry)
  const app = new Set([
    ...classicScripts,
    ...entries.flatMap((entry) => [...loaded(manifest, entry)]),
  ])
  const pages = lazyPages(manifest, entries, app)
  const signIn = nearest(pages, SIGN_IN)
  const firstList = nearest(pages, FIRST_LIST)
  const known = union(app, signIn?.all, firstList?.all)
  return [
    ...over('script of the sign-in page', signIn?.all ?? app, BUDGET.signIn),
    ...over('script of the first list', firstList?.all ?? app, BUDGET.firstList),
    ...pages
      .filter((page) => page !== signIn && page !== firstList && !GALLERY.test(page.source))
      .flatMap(({ source, all, before }) => {
        const own = all.difference(union(known, before))
        return over(`own script of ${source}`, own, BUDGET.furtherPage)
      }),
    ...over(
      'styles',
      files.filter((file) => file.endsWith('.css') && !galleryStyles(manifest).has(file)),
      BUDGET.styles,
    ),
    ...files.filter((file) => FONT.test(file)).map((file) => `${file}: fonts are not allowed`),
  ]
}

/** Returns the style sheets that only developers load. */
const galleryStyles = (manifest: Manifest): Set<string> =>
  new Set(
    Object.entries(manifest).flatMap(([source, { css = [] }]) => (GALLERY.test(source) ? css : [])),
  )

/** Returns the files of a chunk and of its static imports. */
function loaded(manifest: Manifest, source: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[source]
  if (!chunk || seen.has(chunk.file)) return seen
  seen.add(chunk.file)
  for (const imported of chunk.imports ?? []) loaded(manifest, imported, seen)
  return seen
}

/** Returns every dynamic import below the entries, each once, by the shortest path to it. */
function lazyPages(
  manifest: Manifest,
  entries: readonly string[],
  app: ReadonlySet<string>,
): LazyPage[] {
  const pages = new Map<string, LazyPage>()
  const waiting = dynamicImportsOf(manifest, entries).map((source) => ({ source, before: app }))
  for (const { source, before } of waiting) {
    if (pages.has(source)) continue
    const all = union(before, loaded(manifest, source))
    pages.set(source, { source, before, all })
    for (const inner of dynamicImportsOf(manifest, [source]))
      waiting.push({ source: inner, before: all })
  }
  return [...pages.values()]
}

/** Returns the dynamic imports of the chunks and of their static imports. */
function dynamicImportsOf(manifest: Manifest, sources: readonly string[]): string[] {
  const files = union(...sources.map((source) => loaded(manifest, source)))
  return Object.values(manifest)
    .filter(({ file }) => files.has(file))
    .flatMap(({ dynamicImports = [] }) => dynamicImports)
}

/**
 * Returns the page whose source matches. If several match, such as a list and its details, returns the shortest path.
 */
const nearest = (pages: readonly LazyPage[], pattern: RegExp): LazyPage | undefined =>
  pages
    .filter(({ source }) => pattern.test(source))
    .toSorted((one, other) => one.source.length - other.source.length)[0]

const union = (...sets: (ReadonlySet<string> | undefined)[]): Set<string> =>
  new Set(sets.flatMap((set) => [...(set ?? [])]))
