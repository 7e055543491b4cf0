/** Saves a text as a file, without a request. */
export function saveText(text: string, fileName: string): void {
  saveFile(new Blob([text], { type: 'text/plain' }), fileName)
}

const KEPT_MS = 60_000

/** Saves loaded data as a file. */
export function saveFile(content: Blob, fileName: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // Waits before freeing the data, because some browsers read it after the click, or after the user has chosen a
  // location.
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
}
