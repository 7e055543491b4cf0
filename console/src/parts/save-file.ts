/** Saves a text as a file, without a request. */
export function saveText(text: string, fileName: string): void {
  saveFile(new Blob([text], { type: 'text/plain' }), fileName)
}

const KEPT_MS = 60_000

/** Saves what has been loaded as a file. */
export function saveFile(content: Blob, fileName: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // Some browsers read the file after the click, or when the user has chosen where to save the file.
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
}
