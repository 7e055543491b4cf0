export function fetchNode(wanted: {
  npm: string
  home: string
  name: string
  release: string
  integrity: string
  /** The path of the program in `home`. */
  binary: string
}): Promise<void>
