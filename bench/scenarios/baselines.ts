/** Account operations, compared with a popular library for them on the same PostgreSQL. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/better-auth.ts'
import type { Deployment } from '../environment.ts'
import { type Contender, compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { perSecond } from '../measure/table.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'
import { pageOf, TENANT } from './lists.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'

/** A folder that git ignores: the library is not part of the product. */
const FOLDER = fileURLToPath(new URL('../.baselines', import.meta.url))
const PACKAGES = { 'better-auth': '1.7.7', pg: '8.23.1' }
const DATABASE = 'bench_better_auth'

const USERS = 1000
/** The users who sign in on both sides. They exclude the admin and users who may be blocked. */
const FIRST_USER = 2
const SIGNING_IN = 90
/** Hashing takes most of a sign-in, so a turn of a few seconds would contain too few sign-ins. */
const LONGER = 5

const JSON_BODY = { 'content-type': 'application/json' }

export const baselines: Scenario = async (environment, pace, say) => {
  const deployment = await environment.deployment('small')
  say(`baselines: installing better-auth ${PACKAGES['better-auth']} into ${FOLDER}`)
  install()
  const owner = new pg.Client(deployment.database)
  await owner.connect()
  const baseline = openBaseline(new URL('../baselines/better-auth.ts', import.meta.url), {
    NODE_ENV: 'production',
  })
  try {
    await owner.query(`drop database if exists ${DATABASE} with (force)`)
    await owner.query(`create database ${DATABASE}`)
    say(`baselines: giving it ${USERS} users`)
    const url = await baseline.ask<string>({
      folder: FOLDER,
      database: { ...deployment.database, database: DATABASE },
      poolSize: POOL_SIZE,
      users: Array.from({ length: USERS }, (_, user) => ({
        email: emailOf(TENANT, user),
        name: `User ${user}`,
        role: user === 0 ? 'admin' : 'user',
      })),
      password: PASSWORD,
    } satisfies Question)
    const [ours, theirs] = [await callsOfOurs(deployment), await callsOfTheirs(url)]
    const lineOf = async (name: string, call: keyof Calls, atLeast: number, longer = 1) => {
      say(name)
      const seconds = pace.seconds * longer
      const outcome = await compare(ours[call], theirs[call], { ...pace, seconds })
      return {
        name,
        ours: perSecond(outcome.ours),
        limit: perSecond(outcome.baseline),
        ratio: outcome.ratio,
        aim: { atLeast },
      }
    }
    return [
      await lineOf('session read, beside better-auth', 'session', 40),
      await lineOf(`first page of ${USERS} users, beside better-auth`, 'page', 10),
      await lineOf(
        'sign-in (argon2id m=19456 t=2 p=1), beside better-auth (scrypt N=16384 r=16 p=1)',
        'signIn',
        5,
        LONGER,
      ),
    ]
  } finally {
    baseline.stop()
    await owner.query(`drop database if exists ${DATABASE} with (force)`)
    await owner.end()
  }
}

function install(): void {
  mkdirSync(FOLDER, { recursive: true })
  const manifest = { private: true, type: 'module', dependencies: PACKAGES }
  writeFileSync(`${FOLDER}/package.json`, JSON.stringify(manifest))
  const options = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', ['install', '--prefix', FOLDER, ...options], { cwd: FOLDER, stdio: 'ignore' })
}

/** The calls to both sides. */
interface Calls {
  session: Contender
  page: Contender
  signIn: Contender
}

async function callsOfOurs(deployment: Deployment): Promise<Calls> {
  const { url } = deployment.service
  const subdomain = subdomainOf(TENANT)
  const { access_token } = await signIn(url, emailOf(TENANT, FIRST_USER), PASSWORD, subdomain)
  return {
    session: get(`${url}/api/users/me`, access_token),
    page: await pageOf(deployment, 'auditor', '/api/admin/users?limit=20&sort_by=id'),
    signIn: signIns(url, '/api/auth/login', { subdomain }),
  }
}

async function callsOfTheirs(url: string): Promise<Calls> {
  const tokenOf = async (user: number) => {
    const response = await fetch(`${url}/api/auth/sign-in/email`, {
      method: 'POST',
      // Node's fetch sends browser headers, for which better-auth requires an origin.
      headers: { ...JSON_BODY, origin: url },
      body: JSON.stringify({ email: emailOf(TENANT, user), password: PASSWORD }),
    })
    const token = response.headers.get('set-auth-token')
    if (!token) throw new Error(`better-auth signs nobody in: ${await response.text()}`)
    return decodeURIComponent(token)
  }
  return {
    session: get(`${url}/api/auth/get-session`, await tokenOf(FIRST_USER)),
    page: get(`${url}/api/auth/admin/list-users?limit=20&sortBy=id`, await tokenOf(0)),
    signIn: signIns(url, '/api/auth/sign-in/email', {}),
  }
}

function get(url: string, token: string): Contender {
  const headers = { authorization: `Bearer ${token}` }
  return (seconds) => drive({ url, connections: CONNECTIONS, seconds, headers })
}

/** Signs in many users in turn. */
function signIns(url: string, path: string, more: object): Contender {
  let turn = 0
  const body = () => {
    turn += 1
    const email = emailOf(TENANT, FIRST_USER + (turn % SIGNING_IN))
    return JSON.stringify({ email, password: PASSWORD, ...more })
  }
  return (seconds) =>
    drive({
      url,
      connections: CONNECTIONS,
      seconds,
      request: {
        method: 'POST',
        path,
        headers: JSON_BODY,
        setupRequest: (request) => ({ ...request, body: body() }),
      },
    })
}
