/** The database's door for the features and the composition root. */

export { type Changes, type Topic, watchChanges } from './changes.ts'
export type { DatabaseAddress } from './connection.ts'
export type { Database } from './database.ts'
export { problemOf } from './failures.ts'
export { containing, type Found, readPage } from './page.ts'
export { forCaller, ofScope, openScopes, type Scopes, type TenantTx } from './scope.ts'
