export { openJobList } from './job-list.ts'
