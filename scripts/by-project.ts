/** Orders the files of a test run. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The projects follow each other in the order of the configuration, so that files without isolation can
 * go on in the process of the one before. Within a project the order stays Vitest's: the longest first.
 */
export default class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = this.ctx.projects.map(({ name }) => name)
    const rank = ({ project }: TestSpecification) => projects.indexOf(project.name)
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}
