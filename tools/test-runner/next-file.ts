// How a process of tests asks the runner for its next file.

/** The name of a test that only waits for the next file; no report counts it. */
export const nextFileTest = 'wait for the next test file';
/** The message to the runner, which answers with a path, or with an empty one after the last file. */
export const nextFileRequest = 'next-test-file';
