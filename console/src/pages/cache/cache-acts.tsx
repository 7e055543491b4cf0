import { type ReactNode, useState } from 'react'
import { ConfirmedAct } from '../../parts/confirmed-act.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { failureSentence } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { showToast } from '../../parts/toasts.ts'
import { usePersonHere } from '../../shell/person.ts'
import { cacheTexts as texts } from './cache.texts.ts'
import { readIds, useCacheCommands } from './data.ts'

/** The acts on the cache. Only administrators of a clinic can load its patients. */
export function CacheActs({ node }: { node: string }) {
  const isOperator = usePersonHere().role === 'superadmin'
  return (
    <section className="card" aria-labelledby="acts">
      <header>
        <h2 id="acts">{texts.acts}</h2>
      </header>
      <ul className="cache-acts">
        <CleanUp node={node} />
        <DropOne node={node} />
        {!isOperator && <WarmUp />}
        <DropAll node={node} isOperator={isOperator} />
      </ul>
    </section>
  )
}

function Act({ hint, children }: { hint: string; children: ReactNode }) {
  return (
    <li>
      <p>{hint}</p>
      {children}
    </li>
  )
}

function CleanUp({ node }: { node: string }) {
  const { cleanUp } = useCacheCommands()
  const [isBusy, setBusy] = useState(false)
  const start = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      showToast(texts.cleanUp.done(await cleanUp(), node))
    } catch (error) {
      showToast(failureSentence(error))
    }
    setBusy(false)
  }
  return (
    <Act hint={texts.cleanUp.hint}>
      <button type="button" aria-disabled={isBusy} onClick={() => void start()}>
        {texts.cleanUp.open}
      </button>
    </Act>
  )
}

function DropAll({ node, isOperator }: { node: string; isOperator: boolean }) {
  const { dropAll } = useCacheCommands()
  const words = texts.dropAll
  return (
    <Act hint={words.hint}>
      <ConfirmedAct
        open={words.open}
        title={words.title}
        className="danger"
        act={async () => texts.cleanUp.done(await dropAll(), node)}
      >
        <p>{isOperator ? words.bodyOfAll : words.bodyOfClinic}</p>
      </ConfirmedAct>
    </Act>
  )
}

function DropOne({ node }: { node: string }) {
  const { dropOne } = useCacheCommands()
  const words = texts.dropOne
  return (
    <AskingAct
      words={words}
      act={(read) => dropOne(Number(read('patient_id')))}
      resultOf={(count) => (count === 0 ? words.notCached(node) : texts.cleanUp.done(count, node))}
    >
      <Field
        name="patient_id"
        label={words.id}
        missing={words.missing}
        pattern="\s*[1-9][0-9]{0,14}\s*"
        inputMode="numeric"
        required
        focused
      />
    </AskingAct>
  )
}

function WarmUp() {
  const { warmUp } = useCacheCommands()
  const words = texts.warmUp
  return (
    <AskingAct
      words={words}
      act={(read) => warmUp(readIds(read('patient_ids')) ?? [])}
      resultOf={({ warmed, requested, missing_ids }) => {
        const unknown = missing_ids.length > 0 ? ` ${words.unknown(missing_ids)}` : ''
        return `${words.done(warmed, requested)}${unknown}`
      }}
    >
      <Field
        name="patient_ids"
        label={words.ids}
        hint={words.idsHint}
        missing={words.missing}
        pattern="[\s,;]*([1-9][0-9]{0,14}([\s,;]+|$)){1,1000}"
        title={words.fault}
        inputMode="numeric"
        required
        focused
      />
    </AskingAct>
  )
}

interface AskingActProps<Result> {
  readonly words: Readonly<Record<'hint' | 'open' | 'title' | 'busy', string>>
  readonly act: (read: (name: string) => string) => Promise<Result>
  /** Describes the result. */
  readonly resultOf: (result: Result) => string
  /** The fields of the dialog. */
  readonly children: ReactNode
}

/** An act with a dialog that asks for patients first. A toast shows the result. */
function AskingAct<Result>({ words, act, resultOf, children }: AskingActProps<Result>) {
  const [isAsking, setAsking] = useState(false)
  return (
    <Act hint={words.hint}>
      <button type="button" onClick={() => setAsking(true)}>
        {words.open}
      </button>
      {isAsking && (
        <FormDialog
          title={words.title}
          submit={words.title}
          busy={words.busy}
          onSubmit={act}
          onSent={(result) => {
            setAsking(false)
            showToast(resultOf(result))
          }}
          onClose={() => setAsking(false)}
        >
          {children}
        </FormDialog>
      )}
    </Act>
  )
}
