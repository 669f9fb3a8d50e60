// Divides the test files into batches. A process runs each batch, and a few processes run at a time.

export type TestFile = { path: string; text: string };

/** Such a test starts servers or a browser and waits for them, while another can use the processor. */
const startsProcesses =
  /node:child_process|(?:server-process|fault-platform|empty-platform|chromium)\.ts/;
/** Files that start processes mostly wait, so a batch of many would end late. */
const startersInBatch = 5;
/**
 * The first line of a file that `npm test` leaves to `npm test -- --whole`, and why: it takes seconds of both
 * cores, and no small change breaks it alone.
 */
const ofWholeRun = /^\/\/ Whole run: \S/;
/**
 * Each takes from half a minute to some minutes, most of it waiting, and is a batch alone: begun late,
 * or one behind the other, they would be what a run waits for in the end. The longest first; a file
 * that is not named here is only begun later.
 */
export const longFiles = [
  'faults/fault-server-killed',
  'login-pages/login-pages-in-chromium',
  'tools/pack',
  'qr/killed-during-qr-payments',
  'faults/fault-dispatcher-killed',
  'portal/portal-estate',
  'portal/portal-developers',
  'portal/portal-services',
  'portal/portal-roles',
  'portal/portal-browser',
  'faults/fault-offline-uploads-killed',
  'embedded-postgres/embedded-postgres',
  'provisioning/bulk-import-killed',
].map((name) => `${name}.test.ts`);
/** The others share what they load, a database and a running platform, for which each batch pays once. */
const charactersInBatch = 700_000;
/** So few are run by one process: more would only start more databases. */
const filesInOneProcess = 12;

/** A process begins with what the change touches most directly; the platform is loaded once for so many files. */
const nearestInBatch = 8;
/** One path through each part of the platform; a run of changed files always begins with them. */
export const smokeTests = [
  'packages/server/test/payments/sales/keyed-sale.test.ts',
  'packages/server/test/qr/qr-payments.test.ts',
  'packages/server/test/connector/retail-api.test.ts',
  'packages/server/src/identity/oauth/openid-client.test.ts',
  'packages/server/src/provisioning/merchants/merchants.test.ts',
  'packages/server/test/webhooks/webhook-resend.test.ts',
];

/** Parts the files into those of every run and those of a whole one. */
export function splitByRun(files: readonly TestFile[]): {
  everyRun: TestFile[];
  wholeRun: TestFile[];
} {
  return {
    everyRun: files.filter(({ text }) => !ofWholeRun.test(text)),
    wholeRun: files.filter(({ text }) => ofWholeRun.test(text)),
  };
}

/**
 * Two workers take batches from both ends and meet in the middle, so they end together. Files that
 * mostly wait come first, so they run at the same time as files that compute.
 *
 * @param files in the order in which they are to be reported
 */
export function planBatches(files: readonly TestFile[]): string[][] {
  if (files.length <= filesInOneProcess) return [files.map(({ path }) => path)];
  const long = longFiles.flatMap((name) => files.filter(({ path }) => path.endsWith(name)));
  const shortFiles = files.filter((file) => !long.includes(file));
  const waiting = shortFiles.filter(({ text }) => startsProcesses.test(text));
  const others = shortFiles.filter(({ text }) => !startsProcesses.test(text));
  const batches = long.map(({ path }) => [path]);
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

/**
 * Smoke tests first, then the files that a change reaches, in this order; small batches, since a run of changed
 * files ends after a time and not after its last file.
 *
 * @param everyRun the files that a run without `--whole` may begin
 * @param reached paths, nearest to the change first
 */
export function planNearestFirst(
  everyRun: readonly TestFile[],
  reached: readonly string[],
): string[][] {
  const selectable = new Set(everyRun.map(({ path }) => path));
  const paths = [...new Set([...smokeTests, ...reached])].filter((path) => selectable.has(path));
  const batches: string[][] = [];
  for (let from = 0; from < paths.length; from += nearestInBatch) {
    batches.push(paths.slice(from, from + nearestInBatch));
  }
  return batches;
}
