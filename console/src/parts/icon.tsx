import { type IconName, iconPaths } from './icons.ts'

/** A decorative icon. The control that contains it has the label. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={iconPaths[name]} />
    </svg>
  )
}
