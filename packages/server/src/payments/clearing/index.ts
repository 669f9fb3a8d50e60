// The door to clearing files: captures that go to an acquirer as lines of a file.
export { clearingEvents } from './events.ts';
export { createClearingFiles, createClearingSweep, measureFiles } from './files.ts';
export { registerClearing } from './routes.ts';
export { clearingJob, createClearingWork } from './settle.ts';
export { createClearingStore } from './store.ts';
