/** Programs that verify a message of a webhook, to copy into a receiver. A test runs each of them. */
import node from './snippets/verify.mjs?raw'
import python from './snippets/verify.py?raw'
import shell from './snippets/verify.sh?raw'

/** A program in one language. */
interface Snippet {
  readonly language: string
  readonly code: string
}

/** The programs, in the order of the tabs. */
export const snippets: readonly Snippet[] = [
  { language: 'Node.js', code: node },
  { language: 'Python', code: python },
  { language: 'Shell', code: shell },
]
