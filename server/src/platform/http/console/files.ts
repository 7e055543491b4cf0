/** Reads the built console into memory, with the compressed variants that `scripts/build-console.mjs` wrote. */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { etagOf } from '../etag.ts'
import type { ContentEncoding } from './accept-encoding.ts'

/** Content types by file extension. Files with other extensions are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

const VARIANTS: Readonly<Record<Exclude<ContentEncoding, 'identity'>, string>> = {
  br: '.br',
  gzip: '.gz',
}

export interface ConsoleFile {
  type: string
  /** A weak entity tag. It is weak because all encodings of the file have the same tag. */
  etag: string
  bodies: ReadonlyMap<ContentEncoding, Buffer>
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** Returns the files of a build, or undefined without index.html. @param prefix the path of PUBLIC_URL, maybe empty */
export async function readConsole(
  folder: string,
  prefix: string,
): Promise<ConsoleFiles | undefined> {
  const contents = await readFolder(folder)
  if (!contents.has('index.html')) return undefined
  const files = new Map<string, ConsoleFile>()
  for (const [path, content] of contents) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    if (path === 'index.html' && prefix !== '') {
      files.set(path, consoleFile(type, withPrefix(content, prefix)))
      continue
    }
    const file = consoleFile(type, content)
    const bodies = new Map(file.bodies)
    for (const [encoding, extension] of Object.entries(VARIANTS)) {
      const variant = contents.get(path + extension)
      if (variant) bodies.set(encoding as ContentEncoding, variant)
    }
    files.set(path, { ...file, bodies })
  }
  return files
}

/** Reads all files of the folder by their path, except hidden ones such as Vite's manifest. */
async function readFolder(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    },
  )
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep))
    .filter((segments) => !segments.some((segment) => segment.startsWith('.')))
  return new Map(
    await Promise.all(
      paths.map(
        async (segments) =>
          [segments.join('/'), await readFile(join(folder, ...segments))] as const,
      ),
    ),
  )
}

const consoleFile = (type: string, content: Buffer): ConsoleFile => ({
  type,
  etag: etagOf(content),
  bodies: new Map([['identity', content]]),
})

/** Adds the prefix to the URLs in index.html. The other files use relative URLs. */
function withPrefix(html: Buffer, prefix: string): Buffer {
  const escaped = prefix.replaceAll('&', '&amp;')
  const text = html
    .toString('utf8')
    .replaceAll(/(\s(?:src|href)=")(?=\/console\/)/g, (attribute) => attribute + escaped)
  return Buffer.from(text)
}
