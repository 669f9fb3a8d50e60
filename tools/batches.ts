// Deals the test files out into batches: each is run by a process, and two processes run at a time.

export type TestFile = { path: string; text: string };

/** Such a test starts servers or a browser and waits for them, while another can use the processor. */
const startsProcesses =
  /node:child_process|(?:server-process|fault-platform|empty-platform|chromium)\.ts/;
/** Files that start processes share nothing, so that few of them are better than many. */
const startersInBatch = 3;
/** The others share a database and a running platform, which each batch has to start once. */
const charactersInBatch = 190_000;
/** So few are run by one process: more would only start more databases. */
const filesInOneProcess = 12;

/**
 * Where two lanes take batches from the two ends, they meet in the middle and end together, whatever
 * each batch takes. First come the files that wait much, so that they run beside those that compute.
 *
 * @param files in the order in which they are to be reported
 */
export function planBatches(files: readonly TestFile[]): string[][] {
  if (files.length <= filesInOneProcess) return [files.map(({ path }) => path)];
  const waiting = files.filter(({ text }) => startsProcesses.test(text));
  const others = files.filter(({ text }) => !startsProcesses.test(text));
  const batches: string[][] = [];
  for (let from = 0; from < waiting.length; from += startersInBatch) {
    batches.push(waiting.slice(from, from + startersInBatch).map(({ path }) => path));
  }
  let last: string[] = [];
  let characters = charactersInBatch;
  for (const { path, text } of others) {
    if (characters >= charactersInBatch) {
      last = [];
      characters = 0;
      batches.push(last);
    }
    last.push(path);
    characters += text.length;
  }
  return batches;
}
