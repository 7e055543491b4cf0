/** How long functions are, by TypeScript's own reading of the files. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** A screen: of a function's own lines, those of functions inside it counted apart. */
const MAX_OWN_LINES = 60
/** With all functions inside it. */
const MAX_LINES = 150

export interface FunctionLength {
  name: string
  line: number
  own: number
  all: number
}

/** Returns what is too long in the files, a line each; there are no exceptions. */
export function tooLongFunctions(files: readonly string[]): string[] {
  return files.flatMap((file) =>
    functionsOf(file, readFileSync(file, 'utf8'))
      .filter(({ own, all }) => own > MAX_OWN_LINES || all > MAX_LINES)
      .map(
        ({ name, line, own, all }) => `${file}:${line} ${name}: ${own} own lines, ${all} in all`,
      ),
  )
}

/**
 * Every function of a source text, outermost first. Blank lines count. A call of `operation` does not:
 * a table of operations is data, and as long as the interface is.
 */
export function functionsOf(file: string, text: string): FunctionLength[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const found: FunctionLength[] = []

  /** @param around the functions that hold the node, the outermost first */
  function visit(node: ts.Node, around: readonly FunctionLength[]): void {
    const line = lineOf(node.getStart(source)) + 1
    const lines = lineOf(node.end) + 2 - line
    const holder = around.at(-1)
    if (isOperation(node)) {
      for (const entry of around) entry.all -= lines
      if (holder) holder.own -= lines
    } else if (isFunction(node)) {
      // One that stands within a line takes none away from its holder.
      if (holder && lines > 1) holder.own -= lines
      const entry = { name: nameOf(node), line, own: lines, all: lines }
      found.push(entry)
      ts.forEachChild(node, (child) => visit(child, [...around, entry]))
    } else ts.forEachChild(node, (child) => visit(child, around))
  }

  visit(source, [])
  return found
}

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionLike(node) && 'body' in node && node.body !== undefined

const isOperation = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  ts.isIdentifier(node.expression) &&
  node.expression.text === 'operation'

function nameOf(node: ts.FunctionLikeDeclaration): string {
  const { parent } = node
  const name =
    node.name ??
    (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name : undefined)
  return name && ts.isIdentifier(name) ? name.text : '(anonymous)'
}
