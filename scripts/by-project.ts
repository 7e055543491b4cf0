/** Orders the files of a test run. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the projects in the order of the configuration, so that files without isolation can reuse the process of the
 * previous ones. Within a project, keeps Vitest's order, which starts with the longest file.
 */
export default class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = this.ctx.projects.map(({ name }) => name)
    const rank = ({ project }: TestSpecification) => projects.indexOf(project.name)
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}
