import { ConfirmedAct } from '../../parts/confirmed-act.tsx'
import { useHealingCommands } from './data.ts'
import { healingTexts } from './self-healing.texts.ts'

const texts = healingTexts.seed

/** Brings back the checks that were taken out. */
export function SeedChecks() {
  const { seed } = useHealingCommands()
  return (
    <ConfirmedAct open={texts.open} title={texts.title} act={async () => texts.done(await seed())}>
      <p>{texts.body}</p>
    </ConfirmedAct>
  )
}
