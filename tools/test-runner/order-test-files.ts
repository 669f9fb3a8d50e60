// The order in which a run takes the test files, and the files that `npm test` leaves to a whole run.

export type TestFile = { path: string; text: string };

/** Such a test starts servers or a browser and waits for them, while another can use the processor. */
const startsProcesses =
  /node:child_process|(?:server-process|fault-platform|empty-platform|chromium)\.ts/;
/**
 * Marks a file that only `npm test -- --whole` runs; the text after the colon gives the reason. Such a file
 * takes several seconds of two cores, and other tests find most of its faults.
 */
const wholeRunLine = /^\/\/ Whole run: \S/;
/**
 * Each takes from half a minute to some minutes, most of it waiting. Started late, they would delay the end of
 * the run. The longest is first; a file that is not named here is only started later.
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
    everyRun: files.filter(({ text }) => !wholeRunLine.test(text)),
    wholeRun: files.filter(({ text }) => wholeRunLine.test(text)),
  };
}

/**
 * Processes take files from both ends and meet in the middle, so they end together. Files that mostly
 * wait come first, so they run at the same time as files that compute.
 */
export function waitingFirst(files: readonly TestFile[]): string[] {
  const long = longFiles.flatMap((name) => files.filter(({ path }) => path.endsWith(name)));
  const shortFiles = files.filter((file) => !long.includes(file));
  const waiting = shortFiles.filter(({ text }) => startsProcesses.test(text));
  const others = shortFiles.filter(({ text }) => !startsProcesses.test(text));
  return [long, waiting, others].flat().map(({ path }) => path);
}

/**
 * Smoke tests first, then the files that a change reaches, in this order.
 *
 * @param everyRun the files that a run without `--whole` may begin
 * @param reached paths, nearest to the change first
 */
export function nearestFirst(everyRun: readonly TestFile[], reached: readonly string[]): string[] {
  const selectable = new Set(everyRun.map(({ path }) => path));
  return [...new Set([...smokeTests, ...reached])].filter((path) => selectable.has(path));
}
