import { useRef } from 'react'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { actTexts as texts } from './acts.texts.ts'
import { AlreadyDecided, type User, userChanges } from './data.ts'
import { reasonOf } from './failure.ts'

/**
 * Reports the result of a change: done, with an undo button if possible, or refused.
 * @returns true if the user now has the wanted state, or has changed since the page showed it
 */
export async function report(
  work: Promise<unknown>,
  done: string,
  undo?: () => void,
): Promise<boolean> {
  try {
    await work
    showToast(done, undo)
    return true
  } catch (error) {
    showToast(reasonOf(error))
    return error instanceof AlreadyDecided
  }
}

/**
 * Returns a function that unblocks a user or approves a registration. Calls during a running request have no effect.
 * Only unblocking can be undone.
 */
export function useRestore(): (user: User) => Promise<boolean> {
  const reload = useReloadClinic()
  const busy = useRef(new Set<number>())
  const run = async (work: Promise<unknown>, done: string, undo?: () => void) => {
    const isDone = await report(work, done, undo)
    reload()
    return isDone
  }
  const restore = ({ id, full_name, status }: User) => {
    if (status === 'pending') return run(userChanges.approve(id), texts.approved(full_name))
    const blockAgain = () =>
      void run(userChanges.block(id), texts.confirm.block.done(full_name), unblock)
    const unblock = () => run(userChanges.unblock(id), texts.unblocked(full_name), blockAgain)
    return unblock()
  }
  return async (user) => {
    if (busy.current.has(user.id)) return false
    busy.current.add(user.id)
    const isDone = await restore(user)
    busy.current.delete(user.id)
    return isDone
  }
}
