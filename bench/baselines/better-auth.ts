/**
 * The baseline of accounts: better-auth with its admin, bearer and organization plugins on node:http, with its own
 * tables. Its packages are not dependencies: they are loaded from the given folder.
 */
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { answer } from './answer.ts'

export interface Question {
  /** The folder where the packages of better-auth are installed. */
  folder: string
  database: pg.ClientConfig
  poolSize: number
  users: { email: string; name: string; role: string }[]
  password: string
}

/** The parts of better-auth used here. Its types are not available to this project. */
interface Auth {
  handler: unknown
  options: object
  $context: Promise<{
    password: { hash(password: string): Promise<string> }
    internalAdapter: {
      createUser(user: object): Promise<{ id: string }>
      linkAccount(account: object): Promise<unknown>
    }
  }>
}
interface Package {
  betterAuth(options: object): Auth
  admin(): object
  bearer(): object
  organization(): object
  getMigrations(options: object): Promise<{ runMigrations(): Promise<void> }>
  toNodeHandler(auth: Auth): RequestListener
}

const MODULES = ['', '/plugins', '/db/migration', '/node']

async function load(folder: string): Promise<Package> {
  const { resolve } = createRequire(join(folder, 'package.json'))
  const loaded = await Promise.all(
    MODULES.map((module) => import(pathToFileURL(resolve(`better-auth${module}`)).href)),
  )
  return Object.assign({}, ...loaded)
}

/** Returns the server's address after its tables are filled. All users share one password, which is hashed once. */
answer(async ({ folder, database, poolSize, users, password }: Question): Promise<string> => {
  const { betterAuth, admin, bearer, organization, getMigrations, toNodeHandler } =
    await load(folder)
  const pool = new pg.Pool({ ...database, max: poolSize })
  const listener: { answer?: RequestListener } = {}
  const server = createServer((request, response) => listener.answer?.(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const auth = betterAuth({
    baseURL: url,
    secret: 'bench: a secret of thirty-two letters or more',
    database: pool,
    emailAndPassword: { enabled: true },
    plugins: [admin(), bearer(), organization()],
    rateLimit: { enabled: false },
    logger: { disabled: true },
    telemetry: { enabled: false },
  })
  await (await getMigrations(auth.options)).runMigrations()
  const { password: passwords, internalAdapter } = await auth.$context
  const hash = await passwords.hash(password)
  for (const user of users) {
    const { id } = await internalAdapter.createUser({ ...user, emailVerified: true })
    await internalAdapter.linkAccount({
      userId: id,
      accountId: id,
      providerId: 'credential',
      password: hash,
    })
  }
  await pool.query('vacuum (analyze)')
  listener.answer = toNodeHandler(auth)
  return url
})
