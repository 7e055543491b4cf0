/** Fills the golden template in a separate process: `furnish-child.ts <address as JSON>` prints its people. */
import { furnishGolden } from './database-template.ts'

const [, , address = ''] = process.argv
process.stdout.write(JSON.stringify(await furnishGolden(JSON.parse(address))))
