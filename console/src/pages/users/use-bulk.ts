/** Carries out a change of several selected users, from the confirmation to the report. */
import { useEffect, useRef, useState } from 'react'
import { closeThenFocus, focusHeading } from '../../parts/focus-heading.ts'
import { showToast } from '../../parts/toasts.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import type { AskedBulk } from './asked-bulk.ts'
import { bulkTexts as texts } from './bulk.texts.ts'
import { type BulkAct, bulkLabels } from './bulk-labels.texts.ts'
import { type User, userChanges } from './data.ts'
import { type BulkProgress, oneByOne } from './one-by-one.ts'
import { rightsOver } from './rights.ts'

interface BulkKind {
  readonly request: (id: number) => Promise<unknown>
  /** The status of the users to whom the change applies. */
  readonly status: User['status']
  /** The change that reverses this change. */
  readonly undo?: BulkAct
}

const kinds: Readonly<Record<BulkAct, BulkKind>> = {
  block: { request: userChanges.block, status: 'active', undo: 'unblock' },
  unblock: { request: userChanges.unblock, status: 'blocked', undo: 'block' },
  endSessions: { request: userChanges.endSessions, status: 'active' },
  approve: { request: userChanges.approve, status: 'pending' },
  refuse: { request: userChanges.refuse, status: 'pending' },
}

/** A change of several users. It is waiting for confirmation, running, or completed. */
export interface BulkRun {
  readonly act: BulkAct
  /** The users to whom the change applies. */
  readonly users: readonly User[]
  /** The number of selected users to whom the change does not apply. */
  readonly skipped: number
  /** Undefined until the reader has confirmed the change. */
  readonly progress?: BulkProgress
  readonly isOver?: boolean
}

/** The state of a change of several users, and the functions that the dialog calls. */
export interface Bulk {
  /** Undefined once the report has been closed. */
  readonly run: BulkRun | undefined
  readonly cancel: () => void
  readonly confirm: () => void
  readonly stop: () => void
  /** Closes the report. */
  readonly finish: () => void
  /** Undoes the change. Undefined if no user was changed or the change cannot be undone. */
  readonly undo: (() => void) | undefined
}

/**
 * Stores the state of a change of several users. When the page closes, the change stops and its result is reported.
 * @param onDone called once the change has ended and the report has been closed
 */
export function useBulk(asked: AskedBulk, onDone: () => void): Bulk {
  const person = usePersonHere()
  const reload = useReloadClinic()
  const [run, setRun] = useState<BulkRun | undefined>(() => runOf(asked, person))
  const { stopping, isShown } = useStopAtTheEnd()
  const finish = () =>
    closeThenFocus(() => {
      setRun(undefined)
      onDone()
    }, focusHeading)
  const start = async (begun: BulkRun): Promise<void> => {
    const { act, users } = begun
    stopping.current = new AbortController()
    const { signal } = stopping.current
    const show = (progress: BulkProgress) => setRun({ ...begun, progress })
    show(NOTHING_YET)
    const progress = await oneByOne({
      users,
      request: kinds[act].request,
      onProgress: show,
      signal,
    })
    reload()
    const isWhole = progress.done.length === users.length
    if (!isWhole && isShown.current) return setRun({ ...begun, progress, isOver: true })
    showToast(summaryOf(begun, progress), undoOf(act, progress))
    if (isShown.current) finish()
  }
  const undoOf = (act: BulkAct, { done }: BulkProgress) => {
    const { undo } = kinds[act]
    if (!undo || done.length === 0) return undefined
    return () => void start({ act: undo, users: done, skipped: 0 })
  }
  return {
    run,
    cancel: () => setRun(undefined),
    confirm: () => run && void start(run),
    stop: () => stopping.current.abort(),
    finish,
    undo: run?.progress && undoOf(run.act, run.progress),
  }
}

function runOf({ act, users }: AskedBulk, person: Parameters<typeof rightsOver>[1]): BulkRun {
  const applies = (user: User) =>
    user.status === kinds[act].status && rightsOver(user, person) === 'all'
  const affected = users.filter(applies)
  return { act, users: affected, skipped: users.length - affected.length }
}

const NOTHING_YET: BulkProgress = { done: [], refused: [] }

function summaryOf({ act, users }: BulkRun, { done, refused }: BulkProgress): string {
  if (done.length === users.length) return texts.acts[act].done(done.length)
  return texts.summary(bulkLabels[act], done.length, users.length, refused.length)
}

/** Returns the controller that stops the work when the page closes, and whether the page is still open. */
function useStopAtTheEnd() {
  const stopping = useRef(new AbortController())
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
      stopping.current.abort()
    }
  }, [])
  return { stopping, isShown }
}
