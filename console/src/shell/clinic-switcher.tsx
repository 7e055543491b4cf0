import { useNavigate } from '@tanstack/react-router'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { useClinicId, useClinics } from './clinic.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** Shows the name of the clinic. Superadmins can switch to another clinic here, and stay on the same page. */
export function ClinicSwitcher() {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const clinics = useClinics()
  const navigate = useNavigate()
  const name = clinics.find(({ id }) => id === clinicId)?.name
  if (person.role !== 'superadmin') return name ? <ClinicName name={name} /> : null
  const shown = name ?? texts.unknownClinic(clinicId)
  const items = clinics.map((clinic) => ({
    label: clinic.name,
    checked: clinic.id === clinicId,
    onSelect: () => void navigate({ to: addressIn(clinic.id) }),
  }))
  return (
    <Menu className="plain clinic" label={texts.switchClinic(shown)} items={items}>
      <ClinicName name={shown} />
      <Icon name="down" />
    </Menu>
  )
}

function ClinicName({ name }: { name: string }) {
  return (
    <span className="clinic-name">
      <Icon name="clinic" />
      <span className="ellipsis">{name}</span>
    </span>
  )
}

/** Returns the URL of this page in another clinic, without its filters and the open record. */
function addressIn(clinicId: number): string {
  const [, rest = ''] = /\/t\/\d+(.*)$/.exec(location.pathname) ?? []
  return `/t/${clinicId}${rest}`
}
