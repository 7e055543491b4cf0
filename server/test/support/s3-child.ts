/** A separate process that writes an endless object: `s3-child.ts URL NAME`. A test kills it. */

import { parseS3Url } from '../../src/config/s3-url.ts'
import { s3Store } from '../../src/features/backups/stores/s3/s3.ts'
import { systemTime } from '../../src/lib/time.ts'

const [url = '', name = ''] = process.argv.slice(2)
const { location, credentials } = parseS3Url(url)
if (!credentials) throw new Error('no credentials')
const store = s3Store({ location, credentials, clock: systemTime, partBytes: 64 * 1024 })

async function* endless() {
  for (;;) yield Buffer.alloc(10_000)
}

await store.write(name, endless(), new AbortController().signal)
