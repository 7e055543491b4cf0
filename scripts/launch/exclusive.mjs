/** Lets one launcher at a time change the work tree. The claim of a launcher that died expires. */
import { mkdirSync, renameSync, rmdirSync, statSync, utimesSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const lapsesAfter = 20_000

/** Runs `work` while this process owns the folder `claim`, and renews the folder's modification time regularly. */
export async function exclusively(claim, { say, work }) {
  for (let tries = 0; !taken(claim); tries += 1) {
    if (tries === 0) say('Waiting for another launcher that is setting up …')
    if (isLapsed(claim)) discard(claim)
    else await sleep(200)
  }
  const life = setInterval(() => utimesSync(claim, new Date(), new Date()), lapsesAfter / 10)
  try {
    return await work()
  } finally {
    clearInterval(life)
    rmdirSync(claim)
  }
}

/** Tries to acquire the claim. Creating a folder is atomic, so only one of two launchers succeeds. */
function taken(claim) {
  try {
    mkdirSync(claim)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isLapsed(claim) {
  const found = statSync(claim, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > lapsesAfter
}

/** Discards an expired claim. Renames it before checking it again, because another launcher may have replaced it. */
function discard(claim) {
  const aside = `${claim}-lapsed-${process.pid}`
  try {
    renameSync(claim, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (isLapsed(aside)) rmdirSync(aside)
  else renameSync(aside, claim)
}
