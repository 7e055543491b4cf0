/** Writes files such that a reader never sees a part of one, also after a crash. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes a temporary file, readable by this user only, and renames it. Returns the path of the file. */
export async function writeWhole(
  folder: string,
  name: string,
  content: string | Buffer,
): Promise<string> {
  const file = join(folder, name)
  const draft = join(folder, `.${name}.part`)
  await writeFile(draft, content, { mode: 0o600, flush: true })
  await rename(draft, file)
  return file
}
