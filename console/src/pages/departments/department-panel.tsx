import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { isAdministrator } from '../../words/roles.ts'
import { type Department, useDepartment } from './data.ts'
import { ChangeHead, RenameDepartment } from './department-forms.tsx'
import { departmentTexts as texts } from './departments.texts.ts'
import { MembersLink } from './members-link.tsx'
import { RemoveDepartment } from './remove-department.tsx'

interface DepartmentPanelProps {
  readonly id: number
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one department, beside the list. */
export function DepartmentPanel({ id, returnFocusTo, onClose }: DepartmentPanelProps) {
  const query = useDepartment(useClinicId(), id)
  const mayChange = isAdministrator(usePersonHere().role)
  const department = query.data
  const isUnknown = query.error instanceof ApiError && query.error.status === 404
  return (
    <Panel
      title={isUnknown ? texts.notFoundTitle : (department?.name ?? texts.department)}
      onClose={onClose}
      returnFocusTo={returnFocusTo}
      actions={
        mayChange &&
        department &&
        !isUnknown && <Acts department={department} onRemoved={onClose} />
      }
    >
      <div className="card-body">
        {isUnknown ? (
          <p className="muted">{texts.notFound}</p>
        ) : (
          <QueryState query={query}>{(data) => <Facts department={data} />}</QueryState>
        )}
      </div>
    </Panel>
  )
}

function Facts({ department }: { department: Department }) {
  const person = usePersonHere()
  const users = addressOf({ path: '/users' }, person, useClinicId())
  const { head_doctor_id: head, head_doctor_name, created_at } = department
  return (
    <dl className="facts">
      <dt>{texts.head}</dt>
      <dd>
        {head === null ? (
          <span className="muted">{texts.noHead}</span>
        ) : (
          <Link to={users} search={{ open: head }}>
            <bdi>{head_doctor_name}</bdi>
          </Link>
        )}
      </dd>
      <dt>{texts.members}</dt>
      <dd>
        <MembersLink department={department} />
      </dd>
      <dt>{texts.created}</dt>
      <dd>
        <Ago at={created_at} />
      </dd>
    </dl>
  )
}

type Act = 'rename' | 'head' | 'remove'

function Acts({ department, onRemoved }: { department: Department; onRemoved: () => void }) {
  const [act, setAct] = useState<Act>()
  const close = () => setAct(undefined)
  return (
    <>
      <button type="button" onClick={() => setAct('rename')}>
        {texts.rename.open}
      </button>
      <button type="button" onClick={() => setAct('head')}>
        {texts.changeHead.open}
      </button>
      <button type="button" className="danger" onClick={() => setAct('remove')}>
        {texts.remove.open}
      </button>
      {act === 'rename' && <RenameDepartment department={department} onClose={close} />}
      {act === 'head' && <ChangeHead department={department} onClose={close} />}
      {act === 'remove' && (
        <RemoveDepartment department={department} onRemoved={onRemoved} onClose={close} />
      )}
    </>
  )
}
