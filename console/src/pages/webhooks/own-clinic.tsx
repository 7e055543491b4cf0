import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty } from '../../parts/states.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { webhookTexts as texts } from './webhooks.texts.ts'

/** Shows its content in the user's own clinic only, because the service shows webhooks of no other clinic. */
export function OwnClinic({ children }: { children: ReactNode }) {
  const person = usePersonHere()
  if (useClinicId() === person.tenant_id) return children
  return (
    <>
      <PageHead title={texts.title} />
      <Empty
        title={texts.elsewhereTitle}
        action={
          <Link className="button" to={addressOf({ path: '/webhooks' }, person, person.tenant_id)}>
            {texts.own}
          </Link>
        }
      >
        {texts.elsewhere}
      </Empty>
    </>
  )
}
